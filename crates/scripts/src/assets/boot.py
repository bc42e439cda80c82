def _():
    import _warnings, sys
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
        text = file.read()
    # compile() first creates every class of the module ast, which takes longer than everything else
    # here. exec() compiles without them, so it is stopped before the first line, and the code object
    # gets the file name. Errors and warnings are left to compile().
    code = None
    def stop(frame, *_):
        nonlocal code
        code = frame.f_code
        raise RuntimeError
    def with_file_name(code):
        constants = tuple([with_file_name(value) if type(value) is type(code) else value for value in code.co_consts])
        return code.replace(co_filename=path, co_consts=constants)
    if sys.gettrace() is None:
        _warnings.filters.insert(0, ("error", None, Warning, None, 0))
        sys.settrace(stop)
        try:
            exec(text, names)
        except Exception:
            pass
        sys.settrace(None)
        del _warnings.filters[0]
    if code and code.co_filename == "<string>":
        code = with_file_name(code)
    else:
        code = compile(text, path, "exec", dont_inherit=True)
    exec(code, names)
_()
