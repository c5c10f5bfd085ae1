#!/bin/sh
# Makes the toolchain image of TensorFlow 2.15.1: one step is one layer of the Dockerfile.
# Works on Debian and Ubuntu images, bare ones too.
#
# Usage: toolchain.sh packages|compiler|python|bazel|source
set -eu

# Variables and certificates of one run; they lie in a volume, which is no part of the image.
setup=/tfbuild/setup
# shellcheck disable=SC1091
if [ -s $setup/environment ]; then . $setup/environment; fi
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
trust $setup
if [ -s $setup/bundle.pem ]; then
    echo "Acquire::https::CAInfo \"$setup/bundle.pem\";" >$setup/apt.conf
    APT_CONFIG=$setup/apt.conf
    export APT_CONFIG
    # apt gives its fetching to a user of its own.
    chmod 644 $setup/apt.conf
fi

# Mirrors of this run: TFBUILD_MIRROR holds HOST=URL, with spaces between; the host * is every other.
mirrored() { # address
    host=${1#*://}
    host=${host%%/*}
    case $1 in http://*/* | https://*/*) ;; *) host= ;; esac
    set -f
    any=
    for pair in ${TFBUILD_MIRROR-}; do
        if [ "${pair%%=*}" = "$host" ]; then echo "${pair#*=}/${1#*://*/}" && return; fi
        if [ "${pair%%=*}" = "*" ]; then any=${pair#*=}; fi
    done
    for pair in ${TFBUILD_MIRROR-}; do
        own=${pair#*://}
        # A mirror itself has no mirror.
        if [ "${own%%/*}" = "$host" ]; then any=; fi
    done
    if [ -n "$host" ] && [ -n "$any" ]; then echo "$any/${1#*://}"; else echo "$1"; fi
}

update() { # the package lists, from mirrors; the image keeps the sources that its base has
    if [ -n "${TFBUILD_MIRROR-}" ]; then
        rm -rf $setup/apt
        mkdir -p $setup/apt/sources.list.d
        for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
            if [ -f "$list" ]; then sources_led "$list" >"$setup/apt/${list#/etc/apt/}"; fi
        done
        {
            echo "Dir::Etc::sourcelist \"$setup/apt/sources.list\";"
            echo "Dir::Etc::sourceparts \"$setup/apt/sources.list.d\";"
            if [ -s $setup/bundle.pem ]; then echo "Acquire::https::CAInfo \"$setup/bundle.pem\";"; fi
        } >$setup/apt/apt.conf
        APT_CONFIG=$setup/apt/apt.conf
        export APT_CONFIG
        # apt gives its fetching to a user of its own.
        chmod -R a+rX $setup/apt
    fi
    apt-get update -q
}

sources_led() { # file with sources of apt: each word that is an address, led to its mirror
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
            *://*)
                made=${line%%[! ]*}
                set -f
                for word in $line; do made="$made$(mirrored "$word") "; done
                set +f
                echo "${made% }"
                ;;
            *) echo "$line" ;;
        esac
    done <"$1"
}

python=3.11
architecture=x86_64

fail() {
    printf 'tfbuild: %s\n' "$@" >&2
    exit 1
}

install() {
    update || fail "The package lists cannot be fetched." \
        "Check the network of the image build, or give another --apt-mirror."
    # A layer that is cut off is thrown away: no need to wait for the disk after each file.
    apt-get install -q -y --no-install-recommends -o Dpkg::Options::=--force-unsafe-io "$@" ||
        fail "Packages cannot be installed: $*" \
            "Check the network of the image build, or give a base image that has them (--base-image)."
    rm -rf /var/lib/apt/lists/*
}

fetch() { # address file
    from=$(mirrored "$1")
    curl --fail --silent --show-error --location --retry 3 --output "$2" "$from" ||
        fail "Cannot fetch $from" "Check the network of the image build, or give another source."
}

check() { # file sha256
    [ -z "$2" ] || echo "$2  $1" | sha256sum --check --quiet - >&2 ||
        fail "$1 is not the file that was expected." "Its SHA-256 differs from $2."
}

step_packages() {
    command -v apt-get >/dev/null || fail "The base image has no apt-get." \
        "Give a Debian or Ubuntu image with --base-image."
    [ "$(uname -m)" = "$architecture" ] ||
        fail "This recipe compiles for $architecture, and this machine is $(uname -m)."
    # rsync and patchelf for the packaging scripts, xxd for generated sources of 2.21.
    install ca-certificates curl git patchelf rsync unzip xxd xz-utils zip
}

step_compiler() {
    version=16
    update
    if ! apt-cache show "clang-$version" >/dev/null 2>&1; then
        # Not in this distribution: the LLVM project has packages for it.
        # shellcheck disable=SC1091
        codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
        mirror=https://apt.llvm.org
        mkdir -p /etc/apt/keyrings
        fetch "$mirror/llvm-snapshot.gpg.key" /etc/apt/keyrings/llvm.asc
        echo "deb [signed-by=/etc/apt/keyrings/llvm.asc] $mirror/$codename/ llvm-toolchain-$codename-$version main" \
            >/etc/apt/sources.list.d/llvm.list
    fi
    # llvm for its ar and llvm-profdata.
    install "clang-$version" "lld-$version" "llvm-$version" g++ libc6-dev
    # What an instrumented wheel counts with; up to Clang 13 a part of the compiler's package.
    if [ "$version" -ge 14 ]; then install "libclang-rt-$version-dev"; fi
}

usable() { # interpreter
    command -v "$1" >/dev/null && "$1" - <<'PROGRAM'
import ensurepip, os, sys, sysconfig, venv
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
PROGRAM
}

step_python() {
    interpreter="python$python"
    if ! usable "$interpreter"; then
        update
        if apt-cache show "$interpreter" >/dev/null 2>&1; then
            install "$interpreter" "$interpreter-dev" "$interpreter-venv"
        else
            managed
        fi
    fi
    usable "$interpreter" || fail "The base image has no usable Python $python." \
        "Needed: $interpreter with its headers, venv and ensurepip." \
        "Give an image that has it, like --base-image python:$python-slim-bookworm."
    "$interpreter" -m venv /tfbuild/python
    /tfbuild/python/bin/pip install --no-cache-dir --disable-pip-version-check \
        'setuptools<81' wheel ||
        fail "The Python packages that the build needs cannot be installed." \
            "Check the network of the image build, or give another --pip-index."
}

managed() {
    # This distribution has no such Python; uv fetches a standalone one.
    standalone=https://github.com/astral-sh/python-build-standalone/releases/download
    if [ "$(mirrored $standalone)" != $standalone ]; then
        UV_PYTHON_INSTALL_MIRROR=$(mirrored $standalone)
        export UV_PYTHON_INSTALL_MIRROR
    fi
    install python3 python3-venv
    python3 -m venv /tfbuild/uv
    /tfbuild/uv/bin/pip install --no-cache-dir --disable-pip-version-check uv || return 0
    if UV_PYTHON_INSTALL_DIR=/tfbuild/pythons /tfbuild/uv/bin/uv python install --no-cache "$python"; then
        ln -s "$(UV_PYTHON_INSTALL_DIR=/tfbuild/pythons /tfbuild/uv/bin/uv python find --no-project "$python")" \
            "/usr/local/bin/$interpreter"
    fi
}

step_bazel() {
    mkdir -p /tfbuild/bin
    case $architecture in x86_64) suffix=x86_64 ;; *) suffix=arm64 ;; esac
    address=https://github.com/bazelbuild/bazel/releases/download/6.1.0/bazel-6.1.0-linux-$suffix
    fetch "$address" /tfbuild/bin/bazel
    check /tfbuild/bin/bazel 6c25a6d716545d6b672ec46f770521cd9ebb63d73617b8f4e6747825d1db1839
    if [ -e /tfbuild/bin/bazel ]; then chmod 755 /tfbuild/bin/bazel; fi
    found=$(command -v bazel || command -v bazelisk) ||
        fail "The base image has no Bazel." "Give --bazel a release, 'apt', an address or a file."
    [ "${found##*/}" = bazel ] || ln -s "$found" /tfbuild/bin/bazel
}

step_source() {
    fetch https://github.com/tensorflow/tensorflow/archive/refs/tags/v2.15.1.tar.gz /tfbuild/source.tar
    check /tfbuild/source.tar f36416d831f06fe866e149c7cd752da410a11178b01ff5620e9f265511ed57cf
    rm -rf /tfbuild/source /tfbuild/unpacked
    mkdir /tfbuild/unpacked
    tar -x --no-same-owner -f /tfbuild/source.tar -C /tfbuild/unpacked
    # Archives of a release hold one folder, those of a folder hold what was in it.
    top=/tfbuild/unpacked
    if [ ! -e "$top/tensorflow" ] && [ "$(find "$top" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]; then
        top=$(find "$top" -mindepth 1 -maxdepth 1)
    fi
    mv "$top" /tfbuild/source
    # Archives that git has made tell the commit.
    commit=$({ gzip -dc /tfbuild/source.tar 2>/dev/null || cat /tfbuild/source.tar; } |
        git get-tar-commit-id 2>/dev/null) || commit=
    [ -z "$commit" ] || echo "$commit" >/tfbuild/source/.tfbuild-commit
    rm -rf /tfbuild/source.tar /tfbuild/unpacked
    [ -d /tfbuild/source/tensorflow/tools/pip_package ] ||
        fail "The source is no TensorFlow tree: tensorflow/tools/pip_package is missing."
}

case ${1-} in
    packages | compiler | python | bazel | source) "step_$1" ;;
    *) fail "Usage: toolchain.sh packages|compiler|python|bazel|source" ;;
esac
