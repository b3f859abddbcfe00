#!/usr/bin/env python3
"""Shows that each rule that keeps paid instances from being lost is tested.

    tests/scripts/rules.py [--tree DIR] [RULE...]

Switches one rule after the other off in a copy of the tree, builds the fault
tests there, and runs those that must turn red. Ends with an error when one stays
green. The copy is made at DIR, or in a temporary folder, and keeps its builds.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

SERVER = "control-plane/server/src/"

# The rule, the tests that must turn red, and what is replaced: file, old, new.
RULES = [
    ("intent-first", "enumeration::a_create", [
        (SERVER + "pass/begin.rs", "Ok(row) => row,\n",
         "Ok(row) => {\n                drop(self.store.forget_instance(&row.id, row.epoch).await);\n                row\n            }\n"),
    ]),
    ("unique-name", "enumeration::a_create", [
        (SERVER + "instance/create.rs", "adapter.create(&instance.id, ", 'adapter.create("name", '),
    ]),
    ("fence", "rules::a_process_that_stood_still", [
        ("control-plane/store/src/instances.rs", "where id = ?1 and epoch = ?2\n", "where id = ?1 and ?2 = ?2\n"),
    ]),
    ("look-before-create", "enumeration::a_create", [
        (SERVER + "instance/create.rs", "if !error.before_effect() {", "if error.detail.is_empty() {"),
        (SERVER + "instance/create.rs", "_ => !error.before_effect(),", "_ => error.detail.is_empty(),"),
    ]),
    ("id-at-once", "enumeration::a_create", [
        (SERVER + "instance/create.rs", "if !self.advance(deployment, instance, event, changes).await {",
         "if format!(\"{event:?}{changes:?}{}\", deployment.live.name).is_empty() {\n            return false;\n        } else {"),
    ]),
    ("absence-proven", "enumeration::a_delete", [
        (SERVER + "instance/stop.rs", "visible && self.absences >= self.needed", "visible || self.accepted || self.absences >= self.needed"),
    ]),
    ("visibility-window", "rules::an_instance_without_an_answer", [
        (SERVER + "instance/stop.rs", "visible && self.absences >= self.needed", "(visible || !visible) && self.absences >= self.needed"),
    ]),
    ("accepted-is-no-proof", "rules::an_accepted_delete", [
        (SERVER + "instance/stop.rs", "self.accepted && instance.is_visible(now)", "self.accepted && (instance.is_visible(now) || !instance.id.is_empty())"),
    ]),
    ("young-may-be-unknown", "rules::a_young_instance", [
        (SERVER + "instance/stop.rs", "accepted || now.since(self.began) >= VISIBLE_WITHIN", "accepted || now.since(self.began) >= VISIBLE_WITHIN / 30"),
    ]),
    ("sweep-of-orphans", "figures::a_leaked", [
        (SERVER + "sweep/orphans.rs", "        unknown.attempts += 1;\n", "        if !seen.id.is_empty() {\n            return;\n        }\n        unknown.attempts += 1;\n"),
    ]),
    ("sweep-of-missing", "rules::an_instance_that_vanished", [
        (SERVER + "sweep/missing.rs", "self.lost_instance(&instance, \"it vanished\").await,", "tracing::debug!(\"it vanished\"),"),
    ]),
    ("brake", "rules::a_suddenly_shrunken", [
        (SERVER + "provider/listing.rs", "missing >= FEWEST &&", "missing >= FEWEST * 1_000 &&"),
    ]),
    ("brake-until-proven", "figures::a_day_in_another_account", [
        (SERVER + "sweep/doubtful.rs", "None if told && self.is_silent(provider, &id).await => ", "None if told || id.is_empty() => "),
    ]),
    ("list-against-get", "rules::a_list_without_what", [
        (SERVER + "provider/listing.rs", "!sudden && self.contradicted.is_empty()", "!sudden"),
    ]),
    ("owner-mark", "enumeration::a_create", [
        (SERVER + "provider.rs", "all.retain(|seen| seen.owner == owner);", "all.retain(|seen| !seen.owner.is_empty());"),
        (SERVER + "instance.rs", "seen.key == self.id && seen.owner == self.request.owner", "seen.key == self.id"),
    ]),
    ("again-and-again", "figures::a_leaked", [
        (SERVER + "sweep.rs", "() = self.clock.sleep_until(next) => {}", "() = self.clock.sleep_until(Moment::NEVER) => {}"),
    ]),
    ("each-its-own-sweep", "figures::a_provider_that_hangs", [
        (SERVER + "sweep.rs", "        let began = self.clock.now();\n", "        let _one = self.editing.lock().await;\n        let began = self.clock.now();\n"),
    ]),
    ("shutdown-stops-nothing", "rules::a_shutdown", [
        (SERVER + "instance/drive.rs", "return; // nothing that runs is stopped by a shutdown", "return self.lost(&deployment, &instance, \"shutdown\").await;"),
    ]),
]


def copy(tree):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], check=True, capture_output=True)
    files = [name for name in listed.stdout.split(b"\0") if name and pathlib.Path(name.decode()).exists()]
    packed = subprocess.run(["tar", "--null", "-T", "-", "-cf", "-"], input=b"\0".join(files), check=True, capture_output=True)
    subprocess.run(["tar", "-xf", "-", "-C", tree], input=packed.stdout, check=True)


def cargo(tree, *arguments):
    command = ["cargo", "test", "--quiet", "--package", "thermocline-e2e", "--test", "faults", *arguments]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True)


def switch_off(tree, changes):
    """The texts as they were, by path."""
    before = {}
    for name, old, new in changes:
        path = tree / name
        text = path.read_text()
        if old not in text:
            sys.exit(f"{name} no longer holds {old!r}: bring this script up to date")
        before.setdefault(path, text)
        path.write_text(text.replace(old, new, 1))
    return before


def verdict(tree, tests, changes):
    before = switch_off(tree, changes)
    try:
        built = cargo(tree, "--no-run")
        if built.returncode != 0:
            return "does not build", built.stderr
        ran = cargo(tree, tests)
        red = ran.returncode != 0 and "test result: FAILED" in ran.stdout
        return ("red" if red else "GREEN"), ran.stdout
    finally:
        for path, text in before.items():
            path.write_text(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", type=pathlib.Path)
    parser.add_argument("rules", nargs="*")
    options = parser.parse_args()
    tree = options.tree or pathlib.Path(tempfile.mkdtemp(prefix="thermocline-rules-"))
    tree.mkdir(parents=True, exist_ok=True)
    copy(tree)
    wrong = 0
    for rule, tests, changes in RULES:
        if options.rules and rule not in options.rules:
            continue
        told, output = verdict(tree, tests, changes)
        print(f"{rule:24} {tests:36} {told}", flush=True)
        if told != "red":
            wrong += 1
            print(output[-2000:], flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
