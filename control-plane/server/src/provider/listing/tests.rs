use thermocline_provider::ProviderState;

use super::*;

fn list(ids: &[&str]) -> Vec<ProviderInstance> {
    let instance = |id: &&str| ProviderInstance {
        id: (*id).to_owned(),
        key: format!("key of {id}"),
        owner: "us".to_owned(),
        state: ProviderState::Ready,
        address: None,
        usd_per_hour: None,
        detail: String::new(),
    };
    ids.iter().map(instance).collect()
}

fn at(seconds: u64) -> Moment {
    Moment::from_origin(Duration::from_secs(seconds))
}

#[test]
fn a_list_that_shrinks_by_more_than_half_is_no_information() {
    let mut listing = Listing::default();
    assert!(listing.believes(&list(&["a", "b", "c", "d"]), at(0)));
    assert!(!listing.believes(&list(&["a"]), at(5)));
    assert!(!listing.believes(&list(&[]), at(10)));
    let shrunken = listing.shrunken().unwrap();
    assert_eq!((shrunken.before, shrunken.missing), (4, 4));
    assert!(listing.believes(&list(&["a", "b", "c"]), at(15)));
    assert_eq!(listing.shrunken(), None);
}

#[test]
fn half_fewer_or_one_fewer_is_believed() {
    let mut listing = Listing::default();
    assert!(listing.believes(&list(&["a", "b", "c", "d"]), at(0)));
    assert!(listing.believes(&list(&["a", "b"]), at(5)));
    assert!(listing.believes(&list(&["a"]), at(10)));
    assert!(listing.believes(&list(&[]), at(15)));
}

#[test]
fn what_another_provider_of_the_account_deletes_is_not_missing() {
    let mut listing = Listing::default();
    let seen = list(&["own", "a", "b"]);
    listing.leave_to_others(&seen, ["a", "b"].map(str::to_owned).into());
    assert!(listing.believes(&seen, at(0)));
    // Deleted, and forgotten by us, yet this list has them still.
    listing.leave_to_others(&seen, BTreeSet::new());
    assert!(listing.believes(&seen, at(5)));
    listing.leave_to_others(&list(&["own"]), BTreeSet::new());
    assert!(listing.believes(&list(&["own"]), at(10)));
}

#[test]
fn what_was_deleted_is_not_missing() {
    let mut listing = Listing::default();
    assert!(listing.believes(&list(&["a", "b", "c"]), at(0)));
    listing.expect_without("a");
    listing.expect_without("b");
    assert!(listing.believes(&list(&["c"]), at(5)));
}

#[test]
fn what_was_deleted_is_not_missing_after_a_list_that_was_asked_for_before() {
    let mut listing = Listing::default();
    listing.expect_without("a");
    listing.expect_without("b");
    assert!(listing.believes(&list(&["a", "b"]), at(1)));
    assert!(listing.believes(&list(&[]), at(2)));
}

#[test]
fn what_began_anew_with_nothing_is_believed() {
    let mut listing = Listing::default();
    listing.begin(1);
    assert!(listing.believes(&list(&["a", "b"]), at(0)));
    listing.begin(1);
    assert!(!listing.believes(&list(&[]), at(5)));
    listing.begin(2);
    assert!(listing.believes(&list(&[]), at(10)));
}

#[test]
fn a_list_that_stays_so_is_not_believed_for_that() {
    let mut listing = Listing::default();
    assert!(listing.believes(&list(&["a", "b"]), at(0)));
    for minute in 0..24 * 60 {
        assert!(!listing.believes(&list(&[]), at(5 + 60 * minute)));
    }
}

#[test]
fn what_is_known_to_be_gone_is_missed_no_more_and_counts_after_five_minutes() {
    let mut listing = Listing::default();
    assert!(listing.believes(&list(&["a", "b", "c"]), at(0)));
    assert_eq!(listing.doubtful(at(5)), None);
    assert!(!listing.believes(&list(&["c"]), at(5)));
    let missing = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(listing.doubtful(at(304)), Some((missing.clone(), false)));
    assert_eq!(listing.doubtful(at(305)), Some((missing, true)));
    listing.forget("a");
    assert!(listing.believes(&list(&["c"]), at(310)));
    assert_eq!(listing.doubtful(at(310)), None);
}

#[test]
fn a_list_without_what_is_known_by_its_id_is_not_believed_however_few_it_lacks() {
    let mut listing = Listing::default();
    assert!(listing.believes(&list(&["a", "b", "c"]), at(0)));
    assert!(listing.believes(&list(&["a", "b"]), at(5)));
    listing.contradict("c");
    assert!(!listing.believes(&list(&["a", "b"]), at(10)));
    let shrunken = listing.shrunken().unwrap();
    assert_eq!((shrunken.before, shrunken.missing), (3, 1));
    assert!(listing.believes(&list(&["a", "b", "c"]), at(15)));
    listing.contradict("c");
    listing.expect_without("c");
    assert!(listing.believes(&list(&["a", "b"]), at(20)));
    listing.contradict("c");
    assert!(
        listing.believes(&list(&["a", "b"]), at(25)),
        "it is deleted"
    );
}
