"""make_wheel.py WHEEL FILE...: packs the files into a wheel; the same files give the same bytes."""

import base64
import hashlib
import pathlib
import sys
import zipfile

PACKAGE = "tensorflow_rehearsal"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def main(target, files):
    name, version, python, abi, platform = target.name[: -len(".whl")].split("-")
    info = f"{name}-{version}.dist-info"
    contents = {f"{PACKAGE}/{path.name}": path.read_bytes() for path in sorted(files)}
    contents[f"{info}/METADATA"] = (
        "Metadata-Version: 2.1\n"
        f"Name: {name.replace('_', '-')}\n"
        f"Version: {version}\n"
        "Summary: A stand-in that tfbuild compiles to rehearse a build of TensorFlow\n"
    ).encode()
    contents[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\n"
        "Generator: tfbuild-rehearsal\n"
        "Root-Is-Purelib: false\n"
        f"Tag: {python}-{abi}-{platform}\n"
    ).encode()
    contents[f"{info}/top_level.txt"] = f"{PACKAGE}\n".encode()
    record = f"{info}/RECORD"
    lines = [f"{path},{digest(data)},{len(data)}" for path, data in contents.items()]
    contents[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path.endswith(".so") else 0o100644) << 16
            archive.writestr(entry, data)


def digest(data):
    encoded = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={encoded}"


main(pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]])
