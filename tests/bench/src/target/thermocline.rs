//! Thermocline itself: one deployment with a dedicated tier, under a path prefix.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::json;

use super::fleet::until_ready;
use super::place::{Place, free_address};
use super::{THERMOCLINE, Target};
use crate::error::BenchError;
use crate::kind::Kind;
use crate::load::{Connection, Fault, Receipt, Request};
use crate::process::{Group, command};

/// For this run's own server on loopback only.
const TOKEN: &str = "thermocline-bench-admin-token-0000000000";
/// Above any load's concurrency, so that nothing queues.
const CONCURRENCY: u32 = 4096;

/// Starts a server and creates the deployment in front of `origin`.
pub(super) async fn start(
    program: &Path,
    origin: SocketAddr,
    place: &Place,
) -> Result<(Target, Group), BenchError> {
    let (address, admin) = (free_address()?, free_address()?);
    let mut group = serve(program, address, admin, place)?;
    let ready = Request::get(admin, "/readyz");
    until_ready(THERMOCLINE, &mut group, place, async || {
        Ok(call(admin, &ready).await?.0 == 200)
    })
    .await?;
    deploy(admin, origin).await?;
    let target = Target {
        name: THERMOCLINE.into(),
        address,
        prefix: "/d/bench".into(),
        root: Some(group.pid()),
    };
    Ok((target, group))
}

fn serve(
    program: &Path,
    request: SocketAddr,
    admin: SocketAddr,
    place: &Place,
) -> Result<Group, BenchError> {
    let file = place.write(
        "thermocline.toml",
        &configuration(place.path(), request, admin),
    )?;
    let mut command = command(program);
    command
        .arg("serve")
        .arg("--config")
        .arg(file)
        .env("THERMOCLINE_ADMIN_TOKEN", TOKEN);
    place.settle(&mut command, THERMOCLINE)?;
    Group::start(command)
}

fn configuration(folder: &Path, request: SocketAddr, admin: SocketAddr) -> String {
    let folder = folder.display();
    format!(
        "[request]
listen = \"{request}\"
[admin]
listen = \"{admin}\"
[store]
url = \"sqlite://{folder}/thermocline.db\"
"
    )
}

async fn deploy(admin: SocketAddr, origin: SocketAddr) -> Result<(), BenchError> {
    let specification = json!({
        "name": "bench",
        "tiers": { "dedicated": { "url": format!("http://{origin}") } },
        "concurrency": { "max_concurrency": CONCURRENCY },
    });
    let head = format!(
        "PUT /api/v1/deployments/bench HTTP/1.1\r\nhost: {admin}\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\n"
    );
    let request = Request::whole(&head, specification.to_string().as_bytes());
    match call(admin, &request).await {
        Ok((200..=299, _)) => Ok(()),
        Ok((status, body)) => Err(BenchError::Refused { status, body }),
        Err(fault) => Err(BenchError::Refused {
            status: 0,
            body: fault.to_string(),
        }),
    }
}

/// One request on a connection of its own: the status and the body.
async fn call(address: SocketAddr, request: &Request) -> Result<(u16, String), Fault> {
    let mut receipt = Receipt::new(Kind::Post(0));
    let head = Connection::open(address)
        .await?
        .exchange(request, &mut receipt)
        .await?;
    Ok((head.status, receipt.text()))
}
