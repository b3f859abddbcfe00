//! `thermocline demo`: the product on this machine with a simulated cloud,
//! traffic of its own, and every change of tier told as it happens.

mod board;
mod cast;
mod ending;
mod own_backend;
mod random;
mod stage;
mod story;
mod summary;
mod tally;
mod trace;
mod traffic;

use thermocline_clock::Clock;
use thermocline_policy::Moment;

use crate::args::Demo;
use crate::failure::Failure;
use crate::output::{note, print};
use crate::serve::log_to_stderr;
use ending::Ending;
use stage::Stage;
use tally::Tallies;
use trace::Trace;

/// Runs until a signal or the end of `--for`, and leaves nothing behind.
///
/// # Errors
/// What keeps it from starting; a fault when something could not be cleaned up.
pub(crate) async fn run(args: &Demo) -> Result<(), Failure> {
    log_to_stderr("warn");
    let mut ending = Ending::listen()?;
    let stage = Stage::set(args).await?;
    let tallies = Tallies::default();
    let played = tokio::select! {
        played = play(&stage, args, &tallies) => played,
        () = ending.told() => Ok(()),
    };
    summary::tell(&stage.client, &tallies).await;
    note("ending: what was made for the demo is deleted");
    let struck = stage.strike(ending.told()).await;
    played.and(struck)
}

async fn play(stage: &Stage, args: &Demo, tallies: &Tallies) -> Result<(), Failure> {
    let clock = Clock::system();
    let began = clock.now();
    let end = args.duration.map_or(Moment::NEVER, |time| began + time);
    let cast = stage.open().await?;
    print(&welcome(stage, args))?;
    let trace = Trace::new(args.seed, args.speed, cast.iter().map(|role| role.pattern));
    let names = cast.iter().map(|role| role.name).collect();
    tokio::select! {
        () = clock.sleep_until(end) => Ok(()),
        never = traffic::play(stage.request, names, trace, tallies) => match never {},
        told = story::tell(&stage.client, &clock, began) => told,
        shown = board::show(&stage.client, &clock, began, tallies) => shown,
    }
}

fn welcome(stage: &Stage, args: &Demo) -> String {
    let until = match args.duration {
        Some(time) => thermocline_policy::format_duration(time),
        None => "ctrl-c".to_owned(),
    };
    format!(
        "requests  http://{}/d/NAME/\nadmin     http://{}\nconsole   http://{}/console/\ntoken     {}\n\
         traffic   seed {}, {}x, until {until}\n",
        stage.request, stage.admin, stage.admin, stage.token, args.seed, args.speed,
    )
}
