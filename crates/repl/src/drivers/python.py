# Runs Python code in one persistent namespace and reports the results.
import ast
import builtins
import faulthandler
import inspect
import linecache
import traceback
import types
import warnings

_MAX_VALUE_CHARS = int(os.environ.pop("HERMES_REPL_MOST", "20000"))
_MAX_FIGURES = 20
_COMPILE_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_main = types.ModuleType("__main__")
_main.__builtins__ = builtins
_real_main = sys.modules["__main__"]
sys.modules["__main__"] = _main
_namespace = _main.__dict__
sys.path[:] = [""] + [entry for entry in sys.path if entry not in ("", os.getcwd())]
sys.argv = [""]
faulthandler.enable(2)
warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")


def _input(prompt=""):
    if prompt:
        sys.stdout.write(str(prompt) + "\n")
    raise EOFError("input() is not available here; put the value into the code instead")


builtins.input = _input


class _Display:
    value = None
    files = 0


def _save_figure(figure):
    if _Display.files >= _MAX_FIGURES:
        return False
    import io

    data = io.BytesIO()
    figure.savefig(data, format="png", bbox_inches="tight")
    _Display.files += 1
    _send_file("figure", "png", data.getvalue())
    return True


def _save_figures(*_args, **_options):
    """Saves and closes the figures that are open, as a notebook does."""
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is None or not hasattr(plots, "get_fignums"):
        return
    for number in plots.get_fignums():
        figure = plots.figure(number)
        if figure.get_axes() or figure.texts:
            _save_figure(figure)
        plots.close(figure)


class _PlotFinder:
    """Replaces pyplot.show() when matplotlib.pyplot is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib.pyplot":
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        original = spec.loader.exec_module

        def exec_module(module):
            original(module)
            module.show = _save_figures

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _PlotFinder())


def _is_instance(value, package, name):
    """Whether a value is an instance of a class, without importing the class."""
    classes = getattr(type(value), "__mro__", ())
    return any(c.__name__ == name and c.__module__.partition(".")[0] == package for c in classes)


def _repr(value):
    size = None
    if type(value) in (list, tuple, set, frozenset, dict, str, bytes, bytearray):
        size = len(value)
    if size is not None and size > _MAX_VALUE_CHARS:
        # A complete representation would be slow and too long to read.
        import itertools

        if isinstance(value, (str, bytes, bytearray)):
            return "%r ... (%d long)" % (value[: _MAX_VALUE_CHARS // 4], size)
        head = list(itertools.islice(value.items() if type(value) is dict else value, 200))
        return "%s ... (%d items)" % (_truncate(repr(head)[:-1], _MAX_VALUE_CHARS), size)
    return _truncate(repr(value), _MAX_VALUE_CHARS)


def _save_image(value):
    """Saves a value that has an image representation; returns whether it has one."""
    if _is_instance(value, "matplotlib", "Figure"):
        saved = _save_figure(value)
        plots = sys.modules.get("matplotlib.pyplot")
        # An open figure would be saved again.
        if plots is not None:
            plots.close(value)
        return saved
    if _is_instance(value, "PIL", "Image"):
        import io

        data = io.BytesIO()
        value.save(data, format="PNG")
        _send_file("image", "png", data.getvalue())
        return True
    if inspect.isclass(value):
        return False
    for method, extension in (("_repr_png_", "png"), ("_repr_jpeg_", "jpg"), ("_repr_svg_", "svg")):
        render = getattr(type(value), method, None)
        data = render(value) if callable(render) else None
        data = data[0] if isinstance(data, tuple) else data
        if data:
            data = data.encode() if isinstance(data, str) else data
            _send_file("image", extension, data)
            return True
    return False


def _data_frame_text(value):
    """Returns a data frame as text; None for other values."""
    if _is_instance(value, "pandas", "DataFrame") or _is_instance(value, "pandas", "Series"):
        import pandas

        options = ("display.max_rows", 40, "display.min_rows", 20, "display.max_columns", 24,
                   "display.width", 200, "display.max_colwidth", 60,
                   "display.show_dimensions", False)
        with pandas.option_context(*options):
            return repr(value)
    if _is_instance(value, "polars", "DataFrame") or _is_instance(value, "polars", "Series"):
        import polars

        with polars.Config(tbl_rows=40, tbl_cols=24, tbl_width_chars=200, fmt_str_lengths=60):
            return str(value)
    return None


def _display(value):
    if value is None:
        return
    builtins._ = None
    report = {"type": "%s.%s" % (type(value).__module__, type(value).__qualname__)}
    if report["type"].startswith("builtins."):
        report["type"] = report["type"][9:]
    table = _data_frame_text(value)
    report["text"] = _truncate(table, _MAX_VALUE_CHARS) if table is not None else _repr(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and all(type(size) is int and 0 <= size < 1 << 63 for size in shape):
        report["shape"] = list(shape)
    _Display.value = report
    if table is None:
        _save_image(value)
    builtins._ = value


sys.displayhook = _display


class _EventLoop:
    loop = None


def _run_limited(code):
    """Runs code within its memory limits."""
    _apply_user_limits()
    try:
        return _evaluate(code)
    finally:
        _apply_driver_limits()


def _evaluate(code):
    """Runs code; code with top-level await runs in a persistent event loop."""
    result = eval(code, _namespace)
    if not code.co_flags & inspect.CO_COROUTINE:
        return result
    import asyncio

    if _EventLoop.loop is None or _EventLoop.loop.is_closed():
        _EventLoop.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(_EventLoop.loop)
    task = _EventLoop.loop.create_task(result)
    try:
        return _EventLoop.loop.run_until_complete(task)
    except KeyboardInterrupt:
        task.cancel()
        try:
            _EventLoop.loop.run_until_complete(task)
        except BaseException:
            pass
        raise


def _run(text, name):
    tree = ast.parse(text, name)
    body, last = tree.body, None
    if body and isinstance(body[-1], ast.Expr):
        last = ast.Expression(body.pop().value)
    if body:
        _run_limited(compile(tree, name, "exec", flags=_COMPILE_FLAGS, dont_inherit=True))
    if last is not None:
        sys.displayhook(_run_limited(compile(last, name, "eval", flags=_COMPILE_FLAGS, dont_inherit=True)))


def _is_user_code(name):
    if name.startswith("<python-"):
        return True
    if name.startswith("<") or "site-packages" in name or "dist-packages" in name:
        return False
    path = os.path.abspath(name)
    return path.startswith(os.getcwd() + os.sep) and not path.startswith(
        (sys.prefix + os.sep, sys.base_prefix + os.sep)
    )


def _format_stack(stack):
    """Formats the frames of user code, and counts the others."""
    items, skipped = [], []

    def flush_skipped():
        if skipped:
            where = os.path.basename(os.path.dirname(skipped[-1].filename)) or "the interpreter"
            count = len(skipped)
            items.append("  [%d frame%s in %s]\n" % (count, "s" * (count > 1), where))
            skipped.clear()

    user_frames = []
    frames = [frame for frame in stack if frame.filename != "<hermes>"]
    for frame in frames:
        if _is_user_code(frame.filename):
            flush_skipped()
            user_frames.append(frame)
            items.append(frame)
        else:
            skipped.append(frame)
    flush_skipped()
    text, adjacent = [], []
    for item in items + [None]:
        if item is not None and not isinstance(item, str):
            adjacent.append(item)
            continue
        text += traceback.StackSummary.from_list(adjacent).format()
        adjacent = []
        if item is not None:
            text.append(item)
    return "".join(text), user_frames


def _format_error(error, depth=0):
    details = traceback.TracebackException.from_exception(error)
    text, user_frames = _format_stack(details.stack)
    before = ""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and depth < 4:
        link = "The exception above caused" if error.__cause__ else "While handling the exception above, the code raised"
        before = "%s\n%s the following one:\n\n" % (_format_error(cause, depth + 1)[0], link)
    head = "Traceback (most recent call last):\n" if text else ""
    return before + head + text + "".join(details.format_exception_only()), user_frames


def _error_report(error, name):
    try:
        text, user_frames = _format_error(error)
        line = user_frames[-1].lineno if user_frames else None
        cell_lines = [frame.lineno for frame in user_frames if frame.filename == name]
        if isinstance(error, SyntaxError) and error.filename == name:
            line = error.lineno
        elif cell_lines:
            line = cell_lines[-1]
        message = str(error)
    except BaseException as other:
        text, line, message = "%s (cannot be formatted: %r)" % (type(error), type(other)), None, ""
    kind = type(error).__qualname__
    return {"type": kind, "message": _truncate(message, 4000), "line": line, "traceback": _truncate(text, 8000)}


def _handle_request(request):
    name = "<python-%d>" % request["id"]
    text = request["code"]
    # Each line ends with a newline as in a file, because positions are counted
    # from the line ends.
    lines = (text if text.endswith("\n") else text + "\n").splitlines(True)
    linecache.cache[name] = (len(text), None, lines, name)
    _Display.value, _Display.files = None, 0
    _Interrupts.received = False
    response = {}
    try:
        _Interrupts.code_running = True
        _run(text, name)
        _save_figures()
        _Interrupts.code_running = False
    except KeyboardInterrupt as error:
        _Interrupts.code_running = False
        response["error"] = _error_report(error, name)
        response["interrupted"] = _Interrupts.received
    except SystemExit as error:
        _Interrupts.code_running = False
        response["error"] = _error_report(error, name)
        response["note"] = "The code called exit(); the interpreter and its state are kept (action=close ends it)."
    except MemoryError as error:
        _Interrupts.code_running = False
        response["error"] = _error_report(error, name)
        response["note"] = _out_of_memory_note()
        # Frees what the functions held; for other errors it is kept.
        traceback.clear_frames(error.__traceback__)
    except BaseException as error:
        _Interrupts.code_running = False
        response["error"] = _error_report(error, name)
        sys.last_value, sys.last_type, sys.last_traceback = error, type(error), error.__traceback__
    finally:
        _Interrupts.code_running = False
    response["value"] = _Display.value
    return response


_serve(_handle_request)
