def _():
    import sys
    path, tools = sys.argv[1:]
    sys.argv[:] = [path]
    sys.path.insert(0, tools)
    def hook(kind, error, trace):
        while trace and trace.tb_frame.f_code.co_filename != path:
            trace = trace.tb_next
        sys.__excepthook__(kind, error.with_traceback(trace), trace)
    sys.excepthook = hook
    names = globals()
    del names["_"]
    names["__file__"] = path
    with open(path, "rb") as file:
        code = file.read()
    exec(compile(code, path, "exec", dont_inherit=True), names)
_()
