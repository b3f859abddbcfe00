use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use thermocline_provider::Address;

use super::*;

async fn store() -> Store {
    Store::open("sqlite::memory:").await.unwrap()
}

async fn open(store: &Store, origin: KeyOrigin) -> Result<Secrets, SecretError> {
    Secrets::open(store, origin, Redaction::default()).await
}

/// As a server does it for `PUT /secrets/{name}`.
async fn set(store: &Store, secrets: &Secrets, name: &str, value: &str) {
    let sealed = secrets.seal(name, value).unwrap();
    store.put_secret(name, &sealed, 1).await.unwrap();
}

#[tokio::test]
async fn a_key_is_made_with_the_first_secret_and_opens_it_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db.key");
    let (store, origin) = (store().await, KeyOrigin::File(file.clone()));
    let secrets = open(&store, origin.clone()).await.unwrap();
    assert!(!file.exists(), "nobody has needed it yet");
    set(&store, &secrets, "hf", "hf_Sentinel").await;
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = open(&store, origin).await.unwrap();
    assert_eq!(again.value("hf").as_deref(), Some("hf_Sentinel"));
    assert_eq!(again.redaction().clean("hf_Sentinel"), "[secret]");
    let text = std::fs::read_to_string(&file).unwrap();
    let given = KeyOrigin::Given(SecretKey::from_base64(&text).unwrap());
    assert!(open(&store, given).await.unwrap().has("hf"));
}

#[tokio::test]
async fn without_its_key_nothing_is_opened_and_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let store = store().await;
    let file = |name: &str| KeyOrigin::File(folder.path().join(name));
    let secrets = open(&store, file("key")).await.unwrap();
    set(&store, &secrets, "hf", "hf_Sentinel").await;
    let before = store.secrets().await.unwrap();
    let missing = open(&store, file("elsewhere")).await.err();
    assert!(matches!(missing, Some(SecretError::KeyMissing(1))));
    assert!(!folder.path().join("elsewhere").exists());
    let other = KeyOrigin::Given(SecretKey::generate());
    let wrong = open(&store, other).await.err();
    assert!(matches!(wrong, Some(SecretError::WrongKey(name)) if name == "hf"));
    assert_eq!(store.secrets().await.unwrap(), before);
}

#[tokio::test]
async fn what_is_no_key_is_said_to_be_none() {
    for text in ["", "short", "c2hvcnQ=", &"A".repeat(64)] {
        assert!(SecretKey::from_base64(text).is_err(), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "no key\n").unwrap();
    let bad = open(&store().await, KeyOrigin::File(file)).await.err();
    assert!(matches!(bad, Some(SecretError::BadKey)));
}

#[test]
fn a_key_is_never_printed() {
    let key = SecretKey::generate();
    assert_eq!(format!("{:?}", KeyOrigin::Given(key)), "Given(SecretKey)");
}

fn with_token() -> Address {
    let address = json!({
        "url": "https://x.example:8443",
        "headers": { "x-token": "t0ken-of-an-instance" },
        "own_host": true,
    });
    serde_json::from_value(address).unwrap()
}

#[tokio::test]
async fn headers_of_an_address_are_sealed_for_their_instance_alone() {
    let store = Store::open("sqlite::memory:").await.unwrap();
    let redaction = Redaction::default();
    let secrets = Secrets::open(&store, KeyOrigin::Memory, redaction.clone());
    let secrets = secrets.await.unwrap();
    let written = secrets.seal_address("i1", &with_token()).unwrap();
    assert!(!written.contains("t0ken") && written.contains("x.example"));
    assert_eq!(secrets.open_address("i1", &written), Some(with_token()));
    assert_eq!(secrets.open_address("i2", &written), None);
    assert!(!redaction.clean("t0ken-of-an-instance").contains("t0ken"));
}

#[tokio::test]
async fn an_address_of_an_earlier_version_and_one_without_headers_need_no_key() {
    let store = Store::open("sqlite::memory:").await.unwrap();
    let secrets = Secrets::open(&store, KeyOrigin::Memory, Redaction::default());
    let secrets = secrets.await.unwrap();
    let earlier = json!(with_token()).to_string();
    assert_eq!(secrets.open_address("i1", &earlier), Some(with_token()));
    let bare = Address {
        headers: Default::default(),
        ..with_token()
    };
    let written = secrets.seal_address("i1", &bare).unwrap();
    assert_eq!(written, json!(bare).to_string());
    assert!(secrets.sealer().is_none(), "no key was made");
}
