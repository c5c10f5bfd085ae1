"""The wheel as an output of the build, in the folder where TensorFlow puts its own."""

load("@local_config_python//:defs.bzl", "PLATFORM", "PYTHON", "TAG", "VERSION", "WHEEL_NAME")

def _tf_wheel_impl(ctx):
    distribution = WHEEL_NAME.replace("-", "_") + "_rehearsal"
    wheel = ctx.actions.declare_file("wheel_house/{}-{}-{}-{}-{}.whl".format(
        distribution,
        VERSION,
        TAG,
        TAG,
        PLATFORM,
    ))
    ctx.actions.run(
        mnemonic = "TfWheel",
        executable = PYTHON,
        arguments = [ctx.file.script.path, wheel.path] + [file.path for file in ctx.files.srcs],
        inputs = ctx.files.srcs + [ctx.file.script],
        outputs = [wheel],
    )
    return [DefaultInfo(files = depset([wheel]))]

tf_wheel = rule(
    implementation = _tf_wheel_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = True),
        "script": attr.label(allow_single_file = True),
    },
)

def _python_for_shell_impl(ctx):
    file = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(file, "PYTHON='{}'\nTAG='{}'\nPLATFORM='{}'\nVERSION='{}'\n".format(
        PYTHON,
        TAG,
        PLATFORM,
        VERSION,
    ))
    return [DefaultInfo(files = depset([file]), runfiles = ctx.runfiles(files = [file]))]

python_for_shell = rule(implementation = _python_for_shell_impl)
