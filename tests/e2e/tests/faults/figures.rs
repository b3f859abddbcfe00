
use crate::world::*;
#[test]
fn timing() {
    let t = real_now();
    for _ in 0..50 { let w = World::new(); drop(w); }
    println!("new {:?}", t.elapsed()/50);
    let mut w = World::new();
    let t = real_now();
    w.deploy("m", "toy", 1);
    println!("deploy {:?}", t.elapsed());
    let t = real_now();
    for _ in 0..50 { w.step(secs(1)); }
    println!("step at rest {:?}", t.elapsed()/50);
    let t = real_now();
    w.wake("m");
    println!("wake {:?}", t.elapsed());
    let t = real_now();
    for _ in 0..50 { w.step(secs(1)); }
    println!("step when up {:?}", t.elapsed()/50);
    let t = real_now();
    for _ in 0..50 { w.rows(); }
    println!("rows {:?}", t.elapsed()/50);
    let t = real_now();
    for _ in 0..50 { w.status("m"); }
    println!("status {:?}", t.elapsed()/50);
    let t = real_now();
    for _ in 0..50 { w.crash(secs(1)); }
    println!("crash {:?}", t.elapsed()/50);
}
