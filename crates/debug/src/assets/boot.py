import sys
if sys.path and sys.path[0] == "":
    # Modules in the working directory must not shadow those imported here.
    del sys.path[0]


def prepare():
    import importlib.util
    import json
    import os
    import socket
    config = json.loads(sys.argv[1])
    connection = socket.socket(fileno=config["fd"])
    connection.set_inheritable(False)

    def refuse(**body):
        body = json.dumps({"seq": 0, "type": "event", "event": "hermes/refused", "body": body}).encode()
        connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        connection.close()
        os._exit(1)

    try:
        import debugpy
        import debugpy.server
        import pydevd
    except ImportError as error:
        refuse(missing="debugpy", text=str(error), python=sys.executable)
    if not hasattr(pydevd, "start_client"):
        refuse(text="debugpy %s is not supported: it has no start_client" % debugpy.__version__, python=sys.executable)
    # By default it connects to an adapter over the network, which may be closed.
    pydevd.start_client = lambda host, port: connection
    sys.path.insert(0, config["folder"])
    required = config.get("need")
    if required and importlib.util.find_spec(required) is None:
        refuse(missing=required, text="", python=sys.executable)
    debugpy.configure(subProcess=False)
    file_name = os.path.join(os.path.dirname(debugpy.__file__), "hermes_run.py")
    debugpy.connect(("127.0.0.1", 1))
    namespace = {"config": config, "sys": sys}
    text = (
        "import runpy\n"
        "if config.get('module'):\n"
        "    sys.argv = [config['module'], *config['args']]\n"
        "    runpy._run_module_as_main(config['module'], alter_argv=True)\n"
        "else:\n"
        "    sys.argv = [config['program'], *config['args']]\n"
        "    runpy.run_path(config['program'], run_name='__main__')\n")
    return compile(text, file_name, "exec"), namespace


def boot_file_name():
    # A file of debugpy, so that a debugger that stops at the first line of the
    # program does not stop in this script.
    import importlib.util
    import os
    spec = importlib.util.find_spec("debugpy")
    return os.path.join(os.path.dirname(spec.origin), "hermes_boot.py") if spec else "hermes_boot.py"


prepare.__code__ = prepare.__code__.replace(co_filename=boot_file_name())
exec(*prepare())
