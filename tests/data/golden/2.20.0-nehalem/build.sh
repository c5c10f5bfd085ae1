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

mkdir -p "$TFBUILD_OUT" "$TFBUILD_CACHE/disk" "$TFBUILD_CACHE/repository" "$TFBUILD_OUTPUT_BASE"
rm -f "$TFBUILD_OUT"/*.whl "$TFBUILD_OUT/build.json"
cd "$TFBUILD_SOURCE"

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

# What the user has in /etc or at home must not change the wheel.
startup=(--nosystem_rc --nohome_rc --bazelrc="$TFBUILD_BAZELRC"
    --output_base="$TFBUILD_OUTPUT_BASE" --max_idle_secs=60)
# What belongs to this run and not to the recipe: remote caches, mirrors, keys.
if [[ -s $TFBUILD_SETUP/run.bazelrc ]]; then startup+=(--bazelrc="$TFBUILD_SETUP/run.bazelrc"); fi
if [[ -s $TFBUILD_SETUP/truststore.p12 ]]; then
    # Bazel fetches with Java, which has authorities of its own.
    for property in "=$TFBUILD_SETUP/truststore.p12" Type=PKCS12 Password=changeit; do
        startup+=(--host_jvm_args=-Djavax.net.ssl.trustStore"$property")
    done
fi
options=(
    --disk_cache="$TFBUILD_CACHE/disk"
    --repository_cache="$TFBUILD_CACHE/repository"
)
if [[ -n $debian_bazel ]]; then
    # It is told in /etc, which is not read here, where its own parts and Java are.
    startup+=(--install_base=/usr/share/bazel --trust_install_base)
    options+=(--host_javabase=@local_jdk//:jdk)
fi
option_of_bazel 7 8 --incompatible_enable_cc_toolchain_resolution
if [[ -n $TFBUILD_JOBS ]]; then options+=(--jobs="$TFBUILD_JOBS"); fi
if [[ -n $TFBUILD_MEMORY ]]; then options+=(--local_ram_resources="$TFBUILD_MEMORY"); fi

echo "tfbuild: Bazel $version, -march=nehalem"
"$bazel" "${startup[@]}" build "${options[@]}" //tensorflow/tools/pip_package:wheel
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
"$python" - "$(compiler)" "$version" >"$TFBUILD_OUT/build.json" <<'PROGRAM'
import json, platform, sys
print(json.dumps({"compiler": sys.argv[1], "bazel": sys.argv[2], "python": platform.python_version()}))
PROGRAM
echo "tfbuild: ${wheels[0]}"
