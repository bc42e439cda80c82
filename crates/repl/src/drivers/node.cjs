// Runs code in one global scope that stays: the REPL mode of the engine, which
// knows top-level await and lets a name be declared again.
(take) => {
  const { importer } = take;
  const fs = require('fs');
  const inspector = require('inspector');
  const net = require('net');
  const path = require('path');
  const { Writable } = require('stream');
  const url = require('url');
  const util = require('util');
  const vm = require('vm');
  const readline = require('readline');

  const WORD = '\x1e' + process.env.HERMES_REPL_WORD;
  const MOST = Number(process.env.HERMES_REPL_MOST || 20000);
  delete process.env.HERMES_REPL_WORD;
  delete process.env.HERMES_REPL_MOST;
  const PART = 3800;
  const nap = new Int32Array(new SharedArrayBuffer(4));

  const write = (fd, data) => {
    let at = 0;
    while (at < data.length) {
      try {
        at += fs.writeSync(fd, data, at, data.length - at);
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error;
        Atomics.wait(nap, 0, 0, 5);
      }
    }
  };
  const send = (data, more, last) => {
    for (let at = 0; at === 0 || at < data.length; at += PART) {
      const part = data.subarray(at, at + PART);
      const kind = at + PART < data.length ? more : last;
      const head = WORD + kind + part.length.toString(16).padStart(4, '0');
      write(4, Buffer.concat([Buffer.from(head), part]));
    }
  };
  const tell = (message) => send(Buffer.from(JSON.stringify(message)), 'c', 'e');
  const markErrors = () => {
    try {
      write(5, Buffer.from(WORD + 'e0000'));
    } catch {
      // Nobody reads it.
    }
  };
  const cut = (text, most) => {
    if (text.length <= most) return text;
    const head = Math.floor((most * 2) / 5);
    const tail = Math.floor((most * 3) / 5);
    const left = text.length - head - tail;
    return `${text.slice(0, head)}\n[... ${left} characters left out ...]\n${text.slice(-tail)}`;
  };

  // Written at once, so that nothing is lost when the program ends.
  for (const [name, fd] of [['stdout', 1], ['stderr', 2]]) {
    const stream = new Writable({
      decodeStrings: true,
      write(chunk, _encoding, done) {
        try {
          write(fd, chunk);
          done();
        } catch (error) {
          done(error);
        }
      },
    });
    stream.fd = fd;
    stream.isTTY = false;
    stream._type = 'fs';
    Object.defineProperty(process, name, { value: stream, configurable: true, enumerable: true, writable: true });
  }

  const nobody = () => new Error('Nobody can type here; put the value into the code instead');
  for (const kind of [readline.Interface, require('readline/promises').Interface]) {
    const ask = kind.prototype.question;
    kind.prototype.question = function question(...words) {
      if (this.input === process.stdin) throw nobody();
      return ask.apply(this, words);
    };
  }

  const complain = (error) => {
    process.stderr.write(`Uncaught (later): ${trace(error).text}\n`);
  };
  process.on('uncaughtException', complain);
  process.on('unhandledRejection', complain);

  // --- what is written as in a module ------------------------------------

  const IMPORTER = 'globalThis[Symbol.for("hermes.import")]';
  globalThis[Symbol.for('hermes.import')] = (name) => {
    const text = String(name);
    const isFile = /^\.{0,2}\//.test(text);
    return importer(isFile ? url.pathToFileURL(path.resolve(text)).href : text);
  };

  // Where code is, and neither text nor comment: pieces of [isCode, text].
  const pieces = (code) => {
    const found = [];
    let at = 0;
    let begin = 0;
    let last = '';
    const push = (end) => {
      if (begin < at) found.push([true, code.slice(begin, at)]);
      found.push([false, code.slice(at, end)]);
      begin = at = end;
    };
    while (at < code.length) {
      const c = code[at];
      const two = code.slice(at, at + 2);
      if (two === '//' || two === '/*') {
        const end = two === '//' ? code.indexOf('\n', at) : code.indexOf('*/', at + 2) + 2;
        push(end < 2 ? code.length : end);
      } else if (c === '"' || c === "'" || c === '`' || (c === '/' && /^$|[(,=:[!&|?{};\n+\-*%<>~^]/.test(last))) {
        let end = at + 1;
        let inClass = false;
        while (end < code.length && (inClass || code[end] !== c)) {
          if (c === '/' && code[end] === '\n') break;
          if (c === '/' && code[end] === '[') inClass = true;
          if (code[end] === ']') inClass = false;
          if (c !== '/') inClass = false;
          end += code[end] === '\\' ? 2 : 1;
        }
        push(Math.min(end + 1, code.length));
        last = 'x';
      } else {
        if (!/\s/.test(c)) last = c;
        at += 1;
      }
    }
    at = code.length;
    if (begin < at) found.push([true, code.slice(begin, at)]);
    return found;
  };

  const bind = (clause) => {
    const text = clause.trim();
    const star = /^(?:([\w$]+)\s*,\s*)?\*\s*as\s+([\w$]+)$/.exec(text);
    const named = /^(?:([\w$]+)\s*,?\s*)?(?:\{([^}]*)\})?$/.exec(text);
    if (star) return { whole: star[2], one: star[1] };
    if (!named) return null;
    const parts = (named[2] || '').split(',').map((part) => part.trim()).filter(Boolean);
    const names = parts.filter((part) => !/^type\s/.test(part)).map((part) => part.replace(/\s+as\s+/, ': '));
    if (named[1]) names.unshift(`default: ${named[1]}`);
    return { names };
  };

  const STATEMENT = /(^|[;\n])([ \t]*)import\s+(?:([\w$*{},\s]+?)\s*from\s*)?("[^"\n]*"|'[^'\n]*')(?:\s*with\s*\{[^}]*\})?/g;

  const modernize = (code) => {
    if (!/\bimport\b/.test(code)) return code;
    const inText = [];
    let offset = 0;
    for (const [isCode, text] of pieces(code)) {
      if (!isCode) inText.push([offset, offset + text.length]);
      offset += text.length;
    }
    const isText = (at) => inText.some(([from, to]) => from <= at && at < to);
    // Each ends where it ended: what follows may begin with a bracket.
    let out = code.replace(STATEMENT, (all, lead, space, clause, name, at) => {
      if (isText(at + lead.length + space.length)) return all;
      const lines = '\n'.repeat((all.slice(lead.length).match(/\n/g) || []).length);
      const loaded = `await ${IMPORTER}(${name})`;
      if (!clause) return `${lead}${space}${loaded};${lines}`;
      const bound = bind(clause);
      if (!bound) return all;
      if (bound.whole) {
        const one = bound.one ? `, ${bound.one} = ${bound.whole}.default` : '';
        return `${lead}${space}const ${bound.whole} = ${loaded}${one};${lines}`;
      }
      return `${lead}${space}const { ${bound.names.join(', ')} } = ${loaded};${lines}`;
    });
    out = pieces(out).map(([isCode, text]) => (isCode ? text.replace(/(?<![.\w$])import\s*\(/g, `${IMPORTER}(`) : text)).join('');
    return out;
  };

  const strip = (code) => {
    const { stripTypeScriptTypes } = require('module');
    if (stripTypeScriptTypes) {
      process.removeAllListeners('warning');
      return stripTypeScriptTypes(code);
    }
    let compiler;
    try {
      compiler = require('module').createRequire(`${process.cwd()}/`)('typescript');
    } catch {
      // It is not there.
    }
    if (!compiler || !compiler.transpileModule || !compiler.ScriptTarget) {
      const error = new Error(`Node ${process.versions.node} cannot read TypeScript; it needs 22.13 or later, or the package typescript in this project (npm install typescript@5)`);
      error.name = 'Unavailable';
      throw error;
    }
    const { ESNext } = compiler.ScriptTarget;
    const compilerOptions = { target: ESNext, module: compiler.ModuleKind.ESNext, verbatimModuleSyntax: true };
    const made = compiler.transpileModule(code, { compilerOptions, reportDiagnostics: true });
    const wrong = made.diagnostics && made.diagnostics[0];
    if (wrong) throw new SyntaxError(compiler.flattenDiagnosticMessageText(wrong.messageText, '\n'));
    return made.outputText;
  };

  // `{a: 1}` is an object to whoever writes it at a prompt.
  const asExpression = (code) => {
    if (!/^\s*\{/.test(code) || /;\s*$/.test(code)) return code;
    try {
      new vm.Script(`(${code}\n)`);
      return `(${code}\n)`;
    } catch {
      return code;
    }
  };

  // --- names that are declared again ---------------------------------------

  // The engine lets a name be declared again by the same kind of word only:
  // those of a block (let, const, class) are of one kind, those of the whole
  // program (var, function) of another, and a const is by itself.

  // The words at the top that declare something: [word, at].
  const declarations = (code) => {
    const found = [];
    let depth = 0;
    let offset = 0;
    for (const [isCode, text] of pieces(code)) {
      for (const match of isCode ? text.matchAll(/[([{]|[)\]}]|(?<![.\w$])(?:const|let|var|class|function)(?![\w$])/g) : []) {
        const [word] = match;
        if (word.length > 1) {
          if (depth === 0) found.push([word, offset + match.index]);
        } else depth += '([{'.includes(word) ? 1 : -1;
      }
      offset += text.length;
    }
    return found;
  };
  const splice = (code, from, to, text) => code.slice(0, from) + text + code.slice(to);

  const loosen = (code) => {
    let out = code;
    for (const [word, at] of declarations(code).reverse()) {
      // No line may move, nor a column after it.
      if (word === 'const') out = splice(out, at, at + word.length, 'let  ');
    }
    return out;
  };

  // Behind the braces that open next.
  const endOfBody = (code, start) => {
    let depth = 0;
    let offset = 0;
    for (const [isCode, text] of pieces(code)) {
      for (let at = 0; isCode && at < text.length; at++) {
        if (offset + at < start) continue;
        if (text[at] === '{' || text[at] === '(') depth++;
        if (text[at] === '}' || text[at] === ')') depth--;
        if (text[at] === '}' && depth === 0) return offset + at + 1;
      }
      offset += text.length;
    }
    return -1;
  };

  // The code with a name declared in the way in which it was declared before;
  // nothing if that cannot be done.
  const redeclare = (code, name) => {
    const all = declarations(code);
    const isName = new RegExp(`(?<![\\w$.])${name.replace(/\$/g, '\\$')}(?![\\w$])`);
    for (const [index, [word, at]] of all.entries()) {
      const next = index + 1 < all.length ? all[index + 1][1] : code.length;
      const rest = code.slice(at + word.length, next);
      if (word === 'let' || word === 'var') {
        if (isName.test(rest)) return splice(code, at, at + word.length, word === 'let' ? 'var' : 'let');
        continue;
      }
      if (!new RegExp(`^\\s*\\*?\\s*${name.replace(/\$/g, '\\$')}(?![\\w$])`).test(rest)) continue;
      const end = endOfBody(code, at);
      if (end < 0) return null;
      const lead = /async\s+$/.exec(code.slice(0, at));
      const from = word === 'function' && lead ? lead.index : at;
      const before = word === 'class' ? `var ${name} = ` : `${name} = `;
      return splice(splice(code, end, end, ';'), from, from, before);
    }
    return null;
  };

  const isTwice = (code) => {
    try {
      new vm.Script(`(async () => {${code}\n})`);
      return false;
    } catch (error) {
      return /already been declared/.test(error.message);
    }
  };

  // The name that keeps the code from being run at all. What is said of its very
  // beginning comes before anything has run.
  const declaredBefore = (outcome) => {
    const details = outcome.result && outcome.result.exceptionDetails;
    const text = (details && details.exception && details.exception.description) || '';
    const match = /^SyntaxError: Identifier '([\w$]+)' has already been declared\n    at repl-\d+\.js:1:1(?:\n|$)/.exec(text);
    return match && match[1];
  };

  // --- running ------------------------------------------------------------

  const session = new inspector.Session();
  session.connect();
  let taken;
  globalThis[Symbol.for('hermes.take')] = (value) => {
    taken = value;
  };
  const SPECIAL = { NaN: NaN, Infinity: Infinity, '-Infinity': -Infinity, '-0': -0 };
  const real = (remote) => {
    if (remote.objectId) {
      const functionDeclaration = 'function (value) { globalThis[Symbol.for("hermes.take")](value) }';
      const { objectId } = remote;
      taken = undefined;
      session.post('Runtime.callFunctionOn', { functionDeclaration, objectId, arguments: [{ objectId }] });
      const value = taken;
      taken = undefined;
      return value;
    }
    const special = remote.unserializableValue;
    if (special === undefined) return remote.subtype === 'null' ? null : remote.value;
    return special in SPECIAL ? SPECIAL[special] : BigInt(special.slice(0, -1));
  };

  let stop;
  process.on('SIGINT', () => stop && stop());
  const evaluate = (expression) =>
    new Promise((resolve) => {
      const interrupted = () => resolve({ interrupted: true });
      stop = interrupted;
      const options = { expression, replMode: true, awaitPromise: true, objectGroup: 'repl' };
      globalThis[Symbol.for('hermes.run')] = () =>
        session.post('Runtime.evaluate', options, (error, result) => resolve(error ? { error } : { result }));
      try {
        new vm.Script('globalThis[Symbol.for("hermes.run")]()', { filename: 'node:hermes' }).runInThisContext({ breakOnSigint: true });
      } catch (error) {
        if (error && error.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED') interrupted();
        else resolve({ error });
      }
    });

  const isError = (value) => util.types.isNativeError(value) || value instanceof Error;
  const trace = (error, details) => {
    if (!isError(error)) return { type: typeof error, message: util.inspect(error), text: `Uncaught ${util.inspect(error)}`, line: null };
    let stack = String(error.stack || error);
    const end = stack.indexOf('\n    at Session.post (node:inspector');
    if (end >= 0) stack = stack.slice(0, end);
    stack = stack.split('\n').filter((line) => !/^    at .*\(?node:/.test(line) && !/^    at .*\[eval\]/.test(line)).join('\n');
    const message = String(error.message);
    const place = /\(?repl-\d+\.js:(\d+):\d+\)?/.exec(stack);
    let line = place ? Number(place[1]) : null;
    if (!place && details && error instanceof SyntaxError && details.lineNumber !== undefined) {
      line = details.lineNumber + 1;
      stack += `\n    at line ${line}, column ${details.columnNumber + 1}`;
    }
    if (error.cause !== undefined) stack += `\nCaused by: ${isError(error.cause) ? trace(error.cause).text : util.inspect(error.cause)}`;
    return { type: String(error.name || 'Error'), message, text: stack, line };
  };
  const failure = (error, details) => {
    try {
      const { type, message, text, line } = trace(error, details);
      return { type, message: cut(message, 4000), line, traceback: cut(text, 8000) };
    } catch (other) {
      return { type: 'Error', message: 'It cannot be shown', line: null, traceback: String(other) };
    }
  };

  const typeOf = (value) => {
    if (value === null || typeof value !== 'object') return typeof value;
    const made = Object.getPrototypeOf(value);
    return (made && made.constructor && made.constructor.name) || 'object';
  };
  const show = (value) => {
    if (value === undefined) return null;
    const options = { depth: 4, maxArrayLength: 200, maxStringLength: MOST, breakLength: 100, showProxy: true };
    return { text: cut(util.inspect(value, options), MOST), type: typeOf(value) };
  };

  const answer = async ({ id, code, types }) => {
    const told = {};
    try {
      let plain = loosen(asExpression(modernize(types ? strip(code) : code)));
      const run = () => evaluate(`${plain}\n//# sourceURL=repl-${id}.js`);
      let outcome = await run();
      for (let tries = 0, name; tries < 20 && (name = declaredBefore(outcome)) && !isTwice(plain); tries++) {
        const other = redeclare(plain, name);
        if (other === null) break;
        plain = other;
        outcome = await run();
      }
      if (outcome.interrupted) {
        told.interrupted = true;
        told.error = { type: 'Interrupt', message: 'It was interrupted', line: null, traceback: '' };
      } else if (outcome.error) {
        told.error = failure(outcome.error instanceof Error ? outcome.error : new Error(outcome.error.message));
      } else {
        const { result, exceptionDetails } = outcome.result;
        const value = real(exceptionDetails && exceptionDetails.exception ? exceptionDetails.exception : result);
        if (exceptionDetails) {
          globalThis._error = value;
          told.error = failure(value, exceptionDetails);
        } else {
          told.value = show(value);
          if (value !== undefined) globalThis._ = value;
        }
      }
    } catch (error) {
      told.error = failure(error);
    }
    stop = undefined;
    session.post('Runtime.releaseObjectGroup', { objectGroup: 'repl' });
    return told;
  };

  let waiting = take.rest;
  let queue = Promise.resolve();
  const feed = (data) => {
    waiting = Buffer.concat([waiting, data]);
    for (;;) {
      const end = waiting.indexOf(10);
      if (end < 0) return;
      const size = Number(waiting.subarray(0, end).toString());
      if (waiting.length < end + 1 + size) return;
      const request = JSON.parse(waiting.subarray(end + 1, end + 1 + size).toString());
      waiting = waiting.subarray(end + 1 + size);
      queue = queue.then(async () => {
        const told = await answer(request);
        tell({ ...told, done: request.id });
        markErrors();
      });
    }
  };
  const asks = new net.Socket({ fd: 3, readable: true, writable: false });
  asks.on('data', feed);
  // Nobody is there any more.
  asks.on('close', () => process.reallyExit(0));
  asks.on('error', () => process.reallyExit(0));
  tell({ ready: process.versions.node, program: process.execPath });
  markErrors();
  feed(Buffer.alloc(0));
}
