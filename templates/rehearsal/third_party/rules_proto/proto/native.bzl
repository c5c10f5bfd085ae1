"""Bazel's own provider, under a name that can be exported."""

NativeProtoInfo = ProtoInfo
