#!/usr/bin/env bash
# build_pip_package OUT [--cpu] [--nightly_flag] [--project_name NAME]: as TensorFlow's own.
set -euo pipefail

main() {
  local out="" name="tensorflow"
  while [ $# -gt 0 ]; do
    case "$1" in
      --cpu) name="tensorflow_cpu" ;;
      --nightly_flag) name="tf_nightly" ;;
      --project_name) shift; name="${1//-/_}" ;;
      --*) echo "unknown option $1" >&2; return 2 ;;
      *) out="$1" ;;
    esac
    shift
  done
  if [ -z "$out" ]; then
    echo "usage: build_pip_package OUT [--cpu]" >&2
    return 2
  fi
  local root="$0.runfiles/org_tensorflow/tensorflow"
  # Bazel 7 names the main repository so.
  [ -d "$root" ] || root="$0.runfiles/_main/tensorflow"
  # shellcheck disable=SC1091
  source "$root/tools/pip_package/python_env.sh"
  mkdir -p "$out"
  "$PYTHON" "$root/tools/pip_package/make_wheel.py" \
    "$out/${name}_rehearsal-$VERSION-$TAG-$TAG-$PLATFORM.whl" \
    "$root/python/__init__.py" "$root/python/_pywrap_kernels.so" "$root/core/tools/host_tools.py"
}

main "$@"
