# Runs code in one namespace that stays, and shows what comes of it.
import ast
import builtins
import faulthandler
import inspect
import linecache
import traceback
import types
import warnings

_MOST = int(os.environ.pop("HERMES_REPL_MOST", "20000"))
_FIGURES = 20
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_main = types.ModuleType("__main__")
_main.__builtins__ = builtins
_real_main = sys.modules["__main__"]
sys.modules["__main__"] = _main
_space = _main.__dict__
sys.path[:] = [""] + [folder for folder in sys.path if folder not in ("", os.getcwd())]
sys.argv = [""]
faulthandler.enable(2)
warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")


def _input(prompt=""):
    if prompt:
        sys.stdout.write(str(prompt) + "\n")
    raise EOFError("input() has nobody to answer it here; put the value into the code instead")


builtins.input = _input


class _Shown:
    value = None
    files = 0


def _save_figure(figure):
    if _Shown.files >= _FIGURES:
        return False
    import io

    data = io.BytesIO()
    figure.savefig(data, format="png", bbox_inches="tight")
    _Shown.files += 1
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
    """Shows figures in our way from the moment that there can be some."""

    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib.pyplot":
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            module.show = _save_figures

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _PlotFinder())


def _is_a(value, package, name):
    """Whether it is one of that class, which nobody imports to find out."""
    kinds = getattr(type(value), "__mro__", ())
    return any(k.__name__ == name and k.__module__.partition(".")[0] == package for k in kinds)


def _plain(value):
    size = None
    if type(value) in (list, tuple, set, frozenset, dict, str, bytes, bytearray):
        size = len(value)
    if size is not None and size > _MOST:
        # All of it would take long to write, and nobody would read it.
        import itertools

        if isinstance(value, (str, bytes, bytearray)):
            return "%r ... (%d long)" % (value[: _MOST // 4], size)
        some = list(itertools.islice(value.items() if type(value) is dict else value, 200))
        return "%s ... (%d items)" % (_cut(repr(some)[:-1], _MOST), size)
    return _cut(repr(value), _MOST)


def _picture(value):
    """What can be looked at is saved; whether that was done."""
    if _is_a(value, "matplotlib", "Figure"):
        saved = _save_figure(value)
        plots = sys.modules.get("matplotlib.pyplot")
        # An open one would be saved once more.
        if plots is not None:
            plots.close(value)
        return saved
    if _is_a(value, "PIL", "Image"):
        import io

        data = io.BytesIO()
        value.save(data, format="PNG")
        _send_file("image", "png", data.getvalue())
        return True
    if inspect.isclass(value):
        return False
    for method, extension in (("_repr_png_", "png"), ("_repr_jpeg_", "jpg"), ("_repr_svg_", "svg")):
        paint = getattr(type(value), method, None)
        data = paint(value) if callable(paint) else None
        data = data[0] if isinstance(data, tuple) else data
        if data:
            data = data.encode() if isinstance(data, str) else data
            _send_file("image", extension, data)
            return True
    return False


def _table(value):
    """A data frame, as text."""
    if _is_a(value, "pandas", "DataFrame") or _is_a(value, "pandas", "Series"):
        import pandas

        options = ("display.max_rows", 40, "display.min_rows", 20, "display.max_columns", 24,
                   "display.width", 200, "display.max_colwidth", 60,
                   "display.show_dimensions", False)
        with pandas.option_context(*options):
            return repr(value)
    if _is_a(value, "polars", "DataFrame") or _is_a(value, "polars", "Series"):
        import polars

        with polars.Config(tbl_rows=40, tbl_cols=24, tbl_width_chars=200, fmt_str_lengths=60):
            return str(value)
    return None


def _display(value):
    if value is None:
        return
    builtins._ = None
    shown = {"type": "%s.%s" % (type(value).__module__, type(value).__qualname__)}
    if shown["type"].startswith("builtins."):
        shown["type"] = shown["type"][9:]
    table = _table(value)
    shown["text"] = _cut(table, _MOST) if table is not None else _plain(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and all(type(size) is int and 0 <= size < 1 << 63 for size in shape):
        shown["shape"] = list(shape)
    _Shown.value = shown
    if table is None:
        _picture(value)
    builtins._ = value


sys.displayhook = _display


class _Loop:
    loop = None


def _finish(code):
    """Runs code within its bounds."""
    _narrow()
    try:
        return _carry_out(code)
    finally:
        _widen()


def _carry_out(code):
    """Runs code; if it awaits something, in a loop that stays."""
    result = eval(code, _space)
    if not code.co_flags & inspect.CO_COROUTINE:
        return result
    import asyncio

    if _Loop.loop is None or _Loop.loop.is_closed():
        _Loop.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(_Loop.loop)
    task = _Loop.loop.create_task(result)
    try:
        return _Loop.loop.run_until_complete(task)
    except KeyboardInterrupt:
        task.cancel()
        try:
            _Loop.loop.run_until_complete(task)
        except BaseException:
            pass
        raise


def _run(text, name):
    tree = ast.parse(text, name)
    body, last = tree.body, None
    if body and isinstance(body[-1], ast.Expr):
        last = ast.Expression(body.pop().value)
    if body:
        _finish(compile(tree, name, "exec", flags=_FLAGS, dont_inherit=True))
    if last is not None:
        sys.displayhook(_finish(compile(last, name, "eval", flags=_FLAGS, dont_inherit=True)))


def _is_theirs(name):
    if name.startswith("<python-"):
        return True
    if name.startswith("<") or "site-packages" in name or "dist-packages" in name:
        return False
    path = os.path.abspath(name)
    return path.startswith(os.getcwd() + os.sep) and not path.startswith(
        (sys.prefix + os.sep, sys.base_prefix + os.sep)
    )


def _trim(stack):
    """The frames of the user's code; of the others, only how many."""
    lines, strangers = [], []

    def skip():
        if strangers:
            where = os.path.basename(os.path.dirname(strangers[-1].filename)) or "the interpreter"
            count = len(strangers)
            lines.append("  [%d frame%s in %s]\n" % (count, "s" * (count > 1), where))
            strangers.clear()

    own = []
    frames = [frame for frame in stack if frame.filename != "<hermes>"]
    for frame in frames:
        if _is_theirs(frame.filename):
            skip()
            own.append(frame)
            lines.append(frame)
        else:
            strangers.append(frame)
    skip()
    text, run = [], []
    for line in lines + [None]:
        if line is not None and not isinstance(line, str):
            run.append(line)
            continue
        text += traceback.StackSummary.from_list(run).format()
        run = []
        if line is not None:
            text.append(line)
    return "".join(text), own


def _trace(error, depth=0):
    story = traceback.TracebackException.from_exception(error)
    text, own = _trim(story.stack)
    before = ""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and depth < 4:
        link = "was the direct cause of" if error.__cause__ else "came up, and while it was handled came"
        before = "%s\nThe exception above %s the following one:\n\n" % (_trace(cause, depth + 1)[0], link)
    head = "Traceback (most recent call last):\n" if text else ""
    return before + head + text + "".join(story.format_exception_only()), own


def _failure(error, name):
    try:
        text, own = _trace(error)
        line = own[-1].lineno if own else None
        cells = [frame.lineno for frame in own if frame.filename == name]
        if isinstance(error, SyntaxError) and error.filename == name:
            line = error.lineno
        elif cells:
            line = cells[-1]
        message = str(error)
    except BaseException as other:
        text, line, message = "%s (and it cannot be shown: %r)" % (type(error), type(other)), None, ""
    kind = type(error).__qualname__
    return {"type": kind, "message": _cut(message, 4000), "line": line, "traceback": _cut(text, 8000)}


def _answer(request):
    name = "<python-%d>" % request["id"]
    text = request["code"]
    # As those of a file, all of its lines have an end: places in them are
    # counted from there.
    lines = (text if text.endswith("\n") else text + "\n").splitlines(True)
    linecache.cache[name] = (len(text), None, lines, name)
    _Shown.value, _Shown.files = None, 0
    _Attention.seen = False
    told = {}
    try:
        _Attention.busy = True
        _run(text, name)
        _save_figures()
        _Attention.busy = False
    except KeyboardInterrupt as error:
        _Attention.busy = False
        told["error"] = _failure(error, name)
        told["interrupted"] = _Attention.seen
    except SystemExit as error:
        _Attention.busy = False
        told["error"] = _failure(error, name)
        told["note"] = "The code asked to exit; the interpreter and its state are kept (action=close ends it)."
    except MemoryError as error:
        _Attention.busy = False
        told["error"] = _failure(error, name)
        told["note"] = _full()
        # What its functions held is free again, unlike that of other errors.
        traceback.clear_frames(error.__traceback__)
    except BaseException as error:
        _Attention.busy = False
        told["error"] = _failure(error, name)
        sys.last_value, sys.last_type, sys.last_traceback = error, type(error), error.__traceback__
    finally:
        _Attention.busy = False
    told["value"] = _Shown.value
    return told


_serve(_answer)
