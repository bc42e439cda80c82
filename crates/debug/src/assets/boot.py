import sys
if sys.path and sys.path[0] == "":
    # The program's own folder must not come between us and our modules.
    del sys.path[0]


def begin():
    import importlib.util
    import json
    import os
    import socket
    what = json.loads(sys.argv[1])
    line = socket.socket(fileno=what["fd"])
    line.set_inheritable(False)

    def give_up(**body):
        body = json.dumps({"seq": 0, "type": "event", "event": "hermes/refused", "body": body}).encode()
        line.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        line.close()
        os._exit(1)

    try:
        import debugpy
        import debugpy.server
        import pydevd
    except ImportError as error:
        give_up(missing="debugpy", text=str(error), python=sys.executable)
    if not hasattr(pydevd, "start_client"):
        give_up(text="this debugpy (%s) is not known" % debugpy.__version__, python=sys.executable)
    # It would connect to an adapter by the network, which may be closed.
    pydevd.start_client = lambda host, port: line
    sys.path.insert(0, what["folder"])
    need = what.get("need")
    if need and importlib.util.find_spec(need) is None:
        give_up(missing=need, text="", python=sys.executable)
    debugpy.configure(subProcess=False)
    here = os.path.join(os.path.dirname(debugpy.__file__), "hermes_run.py")
    debugpy.connect(("127.0.0.1", 1))
    run = {"what": what, "sys": sys}
    text = (
        "import runpy\n"
        "if what.get('module'):\n"
        "    sys.argv = [what['module'], *what['args']]\n"
        "    runpy._run_module_as_main(what['module'], alter_argv=True)\n"
        "else:\n"
        "    sys.argv = [what['program'], *what['args']]\n"
        "    runpy.run_path(what['program'], run_name='__main__')\n")
    return compile(text, here, "exec"), run


def place():
    # As if it were debugpy's own: a debugger that stops at the first line of the
    # program is not to stop in here.
    import importlib.util
    import os
    found = importlib.util.find_spec("debugpy")
    return os.path.join(os.path.dirname(found.origin), "hermes_boot.py") if found else "hermes_boot.py"


begin.__code__ = begin.__code__.replace(co_filename=place())
exec(*begin())
