"""Tells in short lines what Bazel's build events say, while Bazel writes them into a file.

build.sh runs this beside Bazel. Each line is "tfbuild-event: " and a JSON object. Only what is named
here gets out: other events repeat Bazel's options, in which there may be secrets. It ends when its
standard input does, so it never outlives the script. Python 3.7 and newer.

Usage: follow_events.py EVENTS [DISK_CACHE]
"""

import json
import os
import select
import sys
import time

LONGEST = 3000  # bytes of a line: one write of that size to a pipe is not torn apart
POLL = 0.5
COUNT = 5.0  # seconds between two looks into the cache
SILENCE = 15.0  # after that a line comes even if nothing has happened


class Cache:
    """Counts what is stored in Bazel's disk cache: each action that was really run stores one entry."""

    def __init__(self, folder):
        self.folder = folder
        self.counts = {}
        self.before = self.entries()

    def entries(self):
        try:
            for entry in os.scandir(self.folder):
                changed = os.stat(entry.path).st_mtime_ns
                if self.counts.get(entry.name, (0, 0))[0] != changed:
                    self.counts[entry.name] = (changed, len(os.listdir(entry.path)))
        except OSError:
            pass  # not there yet; the count of before is near enough
        return sum(count for _, count in self.counts.values())

    def stored(self):
        return self.entries() - self.before


class Teller:
    """Gathers what has happened and writes it down."""

    def __init__(self, out):
        self.out = out
        self.number = self.done = self.fetched = 0
        self.actions = []
        self.size = 0

    def take(self, event):
        key = next(iter(event.get("id") or {}), "")
        if key == "actionCompleted" and "action" in event:
            self.action(event["id"][key], event["action"])
        elif key == "fetch":
            self.fetched += 1
        elif key == "buildMetrics" and "buildMetrics" in event:
            summary = event["buildMetrics"].get("actionSummary") or {}
            runners = summary.get("runnerCount") or []
            counts = {str(each.get("name")): int(each.get("count", 0)) for each in runners}
            self.say(counts=counts, executed=int(summary.get("actionsExecuted", 0)))
        elif key == "buildFinished" and "finished" in event:
            code = event["finished"].get("exitCode") or {}
            self.say(exit=str(code.get("name", "")))

    def action(self, identity, action):
        kind, output = str(action.get("type", "")), str(identity.get("primaryOutput", ""))
        if not action.get("success"):
            label = str(identity.get("label", ""))
            self.say(failed=[kind, output, label, int(action.get("exitCode", 0))])
            return
        self.done += 1
        self.actions.append([kind, output])
        self.size += len(kind) + len(output) + 8
        if self.size > LONGEST:
            self.say()

    def say(self, **more):
        self.number += 1
        told = {"n": self.number, "done": self.done}
        if self.fetched:
            told["fetched"] = self.fetched
        if self.actions:
            told["actions"] = self.actions
        told.update(more)
        line = "tfbuild-event: " + json.dumps(told, separators=(",", ":")) + "\n"
        os.write(self.out, line.encode())
        self.actions, self.size = [], 0


class Lines:
    """The whole lines of a file that grows, and that may not be there yet."""

    def __init__(self, path):
        self.path = path
        self.file = None
        self.rest = b""

    def new(self):
        if self.file is None:
            try:
                self.file = open(self.path, "rb")
            except OSError:
                return
        while True:
            block = self.file.read(1 << 20)
            if not block:
                return
            *whole, self.rest = (self.rest + block).split(b"\n")
            for line in whole:
                yield line


def events(lines):
    for line in lines.new():
        try:
            event = json.loads(line.decode("utf-8", "replace"))
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def follow(path, folder, stop, out):
    teller, lines = Teller(out), Lines(path)
    cache = Cache(folder) if folder else None
    said = looked = time.monotonic()
    ended, told = False, None
    while not ended:
        ended = bool(select.select([stop], [], [], POLL)[0])
        for event in events(lines):
            teller.take(event)
        now = time.monotonic()
        more = {}
        if cache and (ended or now - looked >= COUNT):
            looked, stored = now, cache.stored()
            if stored != told:
                told = more["stored"] = stored
        if teller.actions or more or now - said >= SILENCE:
            said = now
            teller.say(**more)


if __name__ == "__main__":
    follow(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "", sys.stdin.fileno(), 1)
