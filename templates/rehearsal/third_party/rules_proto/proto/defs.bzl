"""The protocol buffer rules that are built into Bazel, under the names that BUILD files load."""

load("//proto:native.bzl", "NativeProtoInfo")

proto_lang_toolchain = native.proto_lang_toolchain
proto_library = native.proto_library

ProtoInfo = NativeProtoInfo
