"""The C++ rules that are built into Bazel, under the names by which BUILD files load them."""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
cc_proto_library = native.cc_proto_library
cc_flags_supplier = getattr(native, "cc_flags_supplier", None)
objc_library = native.objc_library
