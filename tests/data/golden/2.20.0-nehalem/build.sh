#!/usr/bin/env bash
# Compiles TensorFlow 2.20.0 for nehalem and leaves one wheel in $TFBUILD_OUT.
#
# The places come from the environment. The defaults are those of the toolchain image.
set -euo pipefail

: "${TFBUILD_SOURCE:=/tfbuild/source}"
: "${TFBUILD_CACHE:=/cache}"
: "${TFBUILD_OUTPUT_BASE:=/tfbuild/output_base}"
: "${TFBUILD_OUT:=/out}"
: "${TFBUILD_BAZELRC:=/tfbuild/tfbuild.bazelrc}"
: "${TFBUILD_SETUP:=/tfbuild/setup}"
: "${TFBUILD_FETCHED:=/tfbuild/fetched}"
: "${TFBUILD_STEP:=build}" # or fetch: only what the release's sources name
: "${TFBUILD_EVENTS:=}" # yes: lines for programs, of what Bazel does, on stdout
: "${TFBUILD_BAZEL:=bazel}"
: "${TFBUILD_PYTHON:=python3.13}"
: "${TFBUILD_JOBS:=}"
: "${TFBUILD_MEMORY:=}"

fail() {
    printf 'tfbuild: %s\n' "$@" >&2
    exit 1
}

[[ $(uname -m) == x86_64 ]] ||
    fail "This recipe compiles for x86_64, and this machine is $(uname -m)."
[[ -d $TFBUILD_SOURCE/tensorflow/tools/pip_package ]] ||
    fail "$TFBUILD_SOURCE is no TensorFlow tree: tensorflow/tools/pip_package is missing."
python=$(command -v "$TFBUILD_PYTHON") || fail "$TFBUILD_PYTHON was not found."
bazel=$(command -v "$TFBUILD_BAZEL") || fail "Bazel was not found: $TFBUILD_BAZEL"

trust() { # folder of the run's own files
    [ -s "$1/ca-certificates.pem" ] || return 0
    # Beside the authorities that are known here, not in place of them.
    : >"$1/bundle.pem"
    for known in "${SSL_CERT_FILE-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
        if [ -s "$known" ]; then cat "$known" >>"$1/bundle.pem" && break; fi
    done
    cat "$1/ca-certificates.pem" >>"$1/bundle.pem"
    chmod 644 "$1/bundle.pem"
    SSL_CERT_FILE=$1/bundle.pem
    CURL_CA_BUNDLE=$SSL_CERT_FILE
    GIT_SSL_CAINFO=$SSL_CERT_FILE
    PIP_CERT=$SSL_CERT_FILE
    REQUESTS_CA_BUNDLE=$SSL_CERT_FILE
    export SSL_CERT_FILE CURL_CA_BUNDLE GIT_SSL_CAINFO PIP_CERT REQUESTS_CA_BUNDLE
}
# Certificate authorities of this run, for what Bazel's repository rules start.
trust "$TFBUILD_SETUP"

mkdir -p "$TFBUILD_OUT" "$TFBUILD_CACHE/disk/ac" "$TFBUILD_CACHE/repository" "$TFBUILD_OUTPUT_BASE"
# An entry that a machine's crash left empty would be taken for the result of an action. The time
# of `used` tells `tfbuild cache` when the cache was last wanted.
find "$TFBUILD_CACHE/disk/ac" -type f -empty -delete
touch "$TFBUILD_CACHE/used"
rm -f "$TFBUILD_OUT"/*.whl "$TFBUILD_OUT/build.json"
cd "$TFBUILD_SOURCE"

# The time of the source stands for the time of the build: same recipe, same bytes.
commit=
if [[ -e .git ]]; then
    commit=$(git rev-parse HEAD)
    moment=$(git log -1 --format=%ct)
else
    # Archives that git has made tell their commit; toolchain.sh has noted it.
    if [[ -e .tfbuild-commit ]]; then commit=$(<.tfbuild-commit); fi
    # At the top Bazel itself may write (MODULE.bazel.lock).
    moment=$(find tensorflow -type f ! -name '*.pyc' -printf '%Ts\n' | sort -n | tail -n 1)
fi
# Before 1980 there are no wheels: a ZIP archive cannot hold it.
if ((${moment:-0} < 315532800)); then moment=315532800; fi
export SOURCE_DATE_EPOCH=$moment

version=$("$bazel" --version | sed -n 's/^bazel \([0-9][0-9.]*\).*/\1/p')
debian_bazel=
if [[ -z $version && -d /usr/share/bazel ]]; then
    # Debian's own Bazel does not tell its version; the package does.
    debian_bazel=yes
    version=$(dpkg-query --show --showformat '${Version}' bazel-bootstrap | sed 's/[^0-9.].*//')
fi
version=${version:-7.4.1}
option_of_bazel() { # oldest and newest major version that know it, option
    local major=${version%%.*}
    if ((major >= $1 && major <= $2)); then options+=("$3"); fi
}

# Bazel's own log there repeats every option of the run, headers for a server among them.
chmod 700 "$TFBUILD_OUTPUT_BASE"
forget_options() { rm -f "$TFBUILD_OUTPUT_BASE"/java.log*; }
forget_options # of a build that was killed

# What the user has in /etc or at home must not change the wheel.
startup=(--nosystem_rc --nohome_rc --bazelrc="$TFBUILD_BAZELRC"
    --output_base="$TFBUILD_OUTPUT_BASE" --max_idle_secs=60)
# What belongs to this run and not to the recipe: remote caches, mirrors, keys.
if [[ -s $TFBUILD_SETUP/run.bazelrc ]]; then startup+=(--bazelrc="$TFBUILD_SETUP/run.bazelrc"); fi
if [[ ${HTTPS_PROXY-}${https_proxy-} == *@* ]]; then
    # Java gives a proxy for https no password, unless it is told to.
    startup+=(--host_jvm_args=-Djdk.http.auth.tunneling.disabledSchemes=)
fi
if [[ -s $TFBUILD_SETUP/truststore.p12 ]]; then
    # Bazel fetches with Java, which has authorities of its own.
    for property in "=$TFBUILD_SETUP/truststore.p12" Type=PKCS12 Password=changeit; do
        startup+=(--host_jvm_args=-Djavax.net.ssl.trustStore"$property")
    done
fi
# What decides about the wheel; its record names these.
options=()
# Where things lie, how much of the machine is used, and what else differs from run to run.
places=(
    --repository_cache="$TFBUILD_CACHE/repository"
    # Some trees let Bazel print all that it reads in bazelrc files, this run's among them.
    --announce_rc=false
)
if [[ -n $debian_bazel ]]; then
    # It is told in /etc, which is not read here, where its own parts and Java are.
    startup+=(--install_base=/usr/share/bazel --trust_install_base)
    if grep -q -s grpcs:// "$TFBUILD_SETUP/run.bazelrc"; then
        fail "Debian's own Bazel cannot speak gRPC over TLS: its Java lacks a part of it (ALPN)." \
            "Take Bazel's own release, an https:// cache, or grpc:// through a tunnel."
    fi
    options+=(--host_javabase=@local_jdk//:jdk)
fi
# Bazel hashes neither the compiler nor the headers in /usr. Where several machines share a cache, none
# must take the results of another compiler: the property is a part of the key of every action.
toolchain() {
    {
        uname -m
        "${CC:-gcc}" -v
        ld --version
        as --version
        "$python" -VV
        dpkg-query --show --showformat '${db:Status-Abbrev} ${binary:Package} ${Version}\n' \
            'binutils*' 'clang*' 'cpp*' 'g++*' 'gcc*' 'lib*gcc*' 'libc-*' 'libc6*' 'libclang*' \
            'libllvm*' 'libpython3*' 'libstdc++*' 'linux-libc-dev*' 'lld*' 'llvm*' 'python3*' ||
            true
    } 2>&1 | grep -v '^un ' | sha256sum | cut -c 1-16
}
disk_cache=--disk_cache=$TFBUILD_CACHE/disk
if [[ -e $TFBUILD_SETUP/executes-remotely ]]; then
    # The compiler is the workers' own. Bazel 4 cannot have a disk cache besides.
    if ((${version%%.*} >= 5)); then places+=("$disk_cache"); fi
else
    places+=("$disk_cache" --remote_default_exec_properties=tfbuild-toolchain="$(toolchain)")
fi
option_of_bazel 7 8 --incompatible_enable_cc_toolchain_resolution
if [[ -n $TFBUILD_JOBS ]]; then places+=(--jobs="$TFBUILD_JOBS"); fi
if [[ -n $TFBUILD_MEMORY ]]; then places+=(--local_ram_resources="$TFBUILD_MEMORY"); fi

# Compiler flags for target code. tfbuild.bazelrc has these; what is found out here comes on top.
flags=(-march=nehalem)
notes=()
add() { # flags
    local flag
    for flag in "$@"; do options+=("--copt=$flag") flags+=("$flag"); done
}
note() { # sentence
    notes+=("$1")
    echo "tfbuild: note: $1"
}

# What `tfbuild fetch` has put into one folder, and what it takes from here.
# Repositories link to each other and to the source by whole paths. In the archive these are the
# container's, whatever they are here.
pattern() { printf '%s' "$1" | sed 's/[][\.*^$|]/\\&/g'; }
replacement() { printf '%s' "$1" | sed 's/[\&|]/\\&/g'; }

links() { # "from" and "to", again and again: options of tar into $renamed
    renamed=()
    while (($#)); do
        renamed+=(--transform "flags=RHs;s|^$(pattern "$1")/|$(replacement "$2")/|")
        shift 2
    done
}

# Variables like PATH, which markers repeat, name the local engine's folder.
engine_folder=${TFBUILD_OUTPUT_BASE%/output/*}

take_fetched() {
    local part=$TFBUILD_OUTPUT_BASE/external.part external=$TFBUILD_OUTPUT_BASE/external entry name renamed was
    if [[ -e $TFBUILD_OUTPUT_BASE/server/server.pid.txt ]]; then "$bazel" "${startup[@]}" shutdown; fi
    echo "tfbuild: takes what was fetched from $TFBUILD_FETCHED"
    # Renewed times tell which of them this run uses.
    tar -x -m -f "$TFBUILD_FETCHED/repository.tar" -C "$TFBUILD_CACHE/repository"
    links /tfbuild/output_base "$TFBUILD_OUTPUT_BASE" /tfbuild/source "$TFBUILD_SOURCE"
    rm -rf "$part"
    mkdir -p "$part" "$external"
    tar -x -f "$TFBUILD_FETCHED/external.tar" -C "$part" "${renamed[@]}"
    was=$(<"$part/engine-folder")
    rm "$part/engine-folder"
    sed -i "/^ENV:/ s|$(pattern "$was")/|$(replacement "$engine_folder")/|g" "$part"/@*.marker
    for entry in "$part"/*; do
        name=${entry##*/}
        # What Bazel has finished here stays. A repository counts once its marker is there.
        if [[ $name == @*.marker || -e $external/@$name.marker ]]; then continue; fi
        rm -rf "${external:?}/$name"
        mv "$entry" "$external/$name"
        if [[ -e $part/@$name.marker ]]; then mv "$part/@$name.marker" "$external/"; fi
    done
    rm -rf "$part"
}

keep_fetched() { # a file that is older than all that was used
    local renamed beside
    beside=$(mktemp -d)
    echo "$engine_folder" >"$beside/engine-folder"
    links "$TFBUILD_OUTPUT_BASE" /tfbuild/output_base "$TFBUILD_SOURCE" /tfbuild/source
    tar -c -f "$TFBUILD_OUT/external.tar" -C "$TFBUILD_OUTPUT_BASE/external" --sort=name \
        --owner=0 --group=0 --numeric-owner "${renamed[@]}" . -C "$beside" engine-folder
    rm -r "$beside"
    # Other releases share the cache. Bazel renews the time of each file that it takes from it.
    (cd "$TFBUILD_CACHE/repository" && find . -type f -newer "$1" -print0 | sort -z) |
        tar -c -f "$TFBUILD_OUT/repository.tar" -C "$TFBUILD_CACHE/repository" --null \
            --owner=0 --group=0 --numeric-owner --no-recursion --files-from=-
}

begun=$(mktemp)
touch -d "2 seconds ago" "$begun" # clocks of file systems are coarse
if [[ -e $TFBUILD_FETCHED/external.tar ]]; then take_fetched; fi
if [[ $TFBUILD_STEP == fetch ]]; then
    trap forget_options EXIT
    "$bazel" "${startup[@]}" build --nobuild "${options[@]}" "${places[@]}" \
        //tensorflow/tools/pip_package:wheel
    "$bazel" "${startup[@]}" shutdown
    keep_fetched "$begun"
    rm -f "$begun"
    exit 0
fi
rm -f "$begun"

# Bazel tells programs what it does in a file, which holds all options too: nobody else may read it.
# A program tells the harmless part on stdout, until the descriptor `told` is closed.
events=$TFBUILD_OUTPUT_BASE/tfbuild-events.json
rm -f "$events"
watched=()
stored=$TFBUILD_CACHE/disk/ac
# What a remote cache answers is stored like what was run, so that the count would not tell a run.
if grep -E -q -s -e '--remote_(cache|executor)' "$TFBUILD_SETUP/run.bazelrc"; then stored=; fi
read -r -d '' follow_events <<'PROGRAM' || true
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
PROGRAM
follower=
if [[ -n $TFBUILD_EVENTS ]]; then
    watched=(--build_event_json_file="$events" --build_event_publish_all_actions
        --build_event_json_file_path_conversion=false)
    exec {told}> >("$python" -c "$follow_events" "$events" "$stored")
    follower=$!
else
    exec {told}>/dev/null
fi
end_events() {
    [[ -n $follower ]] || return 0
    exec {told}>&-
    wait "$follower" || true
    follower=
    rm -f "$events"
}
# On a full disk compilers fail without a word, because there is no room for it either.
tell_full_disk() {
    local place free
    for place in "$TFBUILD_CACHE" "$TFBUILD_OUTPUT_BASE"; do
        free=$(df --output=avail --block-size=1M "$place" 2>/dev/null | tail -n 1) || continue
        if ((${free:-99} < 16)); then echo "tfbuild: No space left on device: $place"; fi
    done
}
at_end() {
    local status=$?
    end_events
    forget_options
    if ((status)); then tell_full_disk; fi
}
trap at_end EXIT
phase() { if [[ -n $TFBUILD_EVENTS ]]; then printf 'tfbuild-event: {"phase":"%s"}\n' "$1"; fi; }

echo "tfbuild: Bazel $version, ${flags[*]}"
goal=//tensorflow/tools/pip_package:wheel
"$bazel" "${startup[@]}" build "${options[@]}" "${places[@]}" "${watched[@]}" "$goal" {told}>&-
end_events
phase packaging
cp bazel-bin/tensorflow/tools/pip_package/wheel_house/*.whl "$TFBUILD_OUT/"
chmod 644 "$TFBUILD_OUT"/*.whl

wheels=("$TFBUILD_OUT"/*.whl)
[[ ${#wheels[@]} == 1 && -f ${wheels[0]} ]] || fail "The build left ${#wheels[@]} wheels instead of one: ${wheels[*]}"

compiler() {
    local clang
    for clang in "$TFBUILD_OUTPUT_BASE"/external/*llvm*/bin/clang; do
        if [[ -x $clang ]]; then "$clang" --version | sed -n 1p && return; fi
    done
    gcc --version | sed -n 1p
}
work=$TFBUILD_OUTPUT_BASE/tfbuild-components
rm -rf "$work"
mkdir "$work"
# Repositories that the wheel's own code comes from, and how the tree defines each.
components() {
    "$bazel" "${startup[@]}" cquery "${options[@]}" "${places[@]}" --notool_deps "deps($goal)" 2>"$work/log" |
        sed -n 's#^@\{1,2\}\([^/]*\)//.*#\1#p' | LC_ALL=C sort -u >"$work/repositories" &&
        "$bazel" "${startup[@]}" query --announce_rc=false --nofetch --output=build '//external:*' >"$work/external" 2>"$work/log"
}
if ! components; then
    # Their list says that it is incomplete; the wheel is not worse for it.
    echo "note: Bazel does not tell what the wheel was made of: $(tail -n 3 "$work/log")"
    rm -f "$work/repositories" "$work/external"
fi

"$python" - "$(compiler)" "$version" "$moment" "$commit" "$work" \
    "${flags[*]}" "${#notes[@]}" "${notes[@]}" "${options[@]}" >"$TFBUILD_OUT/build.json" <<'PROGRAM'
import json, os, pathlib, platform, sys
compiler, bazel, moment, commit, work, flags, count, *rest = sys.argv[1:]
notices, options = rest[: int(count)], rest[int(count) :]
told = [pathlib.Path(work, name) for name in ("repositories", "external")]
packages = {}
if sys.prefix != sys.base_prefix:
    # An environment that was made for this build; what else a machine's Python has is no part of it.
    try:
        from importlib.metadata import distributions
        packages = {one.metadata["Name"]: one.version for one in distributions()}
    except ImportError:
        pass
print(json.dumps({
    "compiler": compiler,
    "bazel": bazel,
    "python": platform.python_version(),
    "libc": os.confstr("CS_GNU_LIBC_VERSION"),
    "source_date_epoch": int(moment),
    "commit": commit,
    "flags": flags,
    "notices": notices,
    "options": options,
    "packages": packages,
    "repositories": told[0].read_text().split() if told[0].exists() else None,
    "external": told[1].read_text() if told[1].exists() else "",
}))
PROGRAM
rm -rf "$work"
echo "tfbuild: ${wheels[0]}"
