// Runs code in one persistent global scope, in the REPL mode of V8, which
// supports top-level await and redeclared names.
(boot) => {
  const { importer } = boot;
  const fs = require('fs');
  const inspector = require('inspector');
  const net = require('net');
  const path = require('path');
  const { Writable } = require('stream');
  const url = require('url');
  const util = require('util');
  const vm = require('vm');
  const readline = require('readline');

  const MARKER = '\x1e' + process.env.HERMES_REPL_WORD;
  const MAX_VALUE_CHARS = Number(process.env.HERMES_REPL_MOST || 20000);
  delete process.env.HERMES_REPL_WORD;
  delete process.env.HERMES_REPL_MOST;
  const FRAME_BYTES = 3800;
  const sleepCell = new Int32Array(new SharedArrayBuffer(4));

  const write = (fd, data) => {
    let at = 0;
    while (at < data.length) {
      try {
        at += fs.writeSync(fd, data, at, data.length - at);
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error;
        Atomics.wait(sleepCell, 0, 0, 5);
      }
    }
  };
  const sendFrames = (data, more, last) => {
    for (let at = 0; at === 0 || at < data.length; at += FRAME_BYTES) {
      const part = data.subarray(at, at + FRAME_BYTES);
      const kind = at + FRAME_BYTES < data.length ? more : last;
      const head = MARKER + kind + part.length.toString(16).padStart(4, '0');
      write(4, Buffer.concat([Buffer.from(head), part]));
    }
  };
  const sendMessage = (message) => sendFrames(Buffer.from(JSON.stringify(message)), 'c', 'e');
  const markStderrEnd = () => {
    try {
      write(5, Buffer.from(MARKER + 'e0000'));
    } catch {
      // The reader is gone.
    }
  };
  const truncate = (text, limit) => {
    if (text.length <= limit) return text;
    const head = Math.floor((limit * 2) / 5);
    const tail = Math.floor((limit * 3) / 5);
    const omitted = text.length - head - tail;
    return `${text.slice(0, head)}\n[... ${omitted} characters left out ...]\n${text.slice(-tail)}`;
  };

  // Writes synchronously, so no output is lost when the process exits.
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

  const noInput = () => new Error('Standard input is not available here; put the value into the code instead');
  for (const kind of [readline.Interface, require('readline/promises').Interface]) {
    const original = kind.prototype.question;
    kind.prototype.question = function question(...args) {
      if (this.input === process.stdin) throw noInput();
      return original.apply(this, args);
    };
  }

  const reportUncaught = (error) => {
    process.stderr.write(`Uncaught in the background: ${describeError(error).text}\n`);
  };
  process.on('uncaughtException', reportUncaught);
  process.on('unhandledRejection', reportUncaught);

  // --- module syntax ------------------------------------------------------

  const IMPORTER = 'globalThis[Symbol.for("hermes.import")]';
  globalThis[Symbol.for('hermes.import')] = (name) => {
    const text = String(name);
    const isFile = /^\.{0,2}\//.test(text);
    return importer(isFile ? url.pathToFileURL(path.resolve(text)).href : text);
  };

  // Splits a source into [isCode, text]; strings and comments are not code.
  const splitSource = (code) => {
    const segments = [];
    let at = 0;
    let begin = 0;
    let last = '';
    const push = (end) => {
      if (begin < at) segments.push([true, code.slice(begin, at)]);
      segments.push([false, code.slice(at, end)]);
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
    if (begin < at) segments.push([true, code.slice(begin, at)]);
    return segments;
  };

  const parseImportClause = (clause) => {
    const text = clause.trim();
    const star = /^(?:([\w$]+)\s*,\s*)?\*\s*as\s+([\w$]+)$/.exec(text);
    const named = /^(?:([\w$]+)\s*,?\s*)?(?:\{([^}]*)\})?$/.exec(text);
    if (star) return { namespace: star[2], defaultName: star[1] };
    if (!named) return null;
    const parts = (named[2] || '').split(',').map((part) => part.trim()).filter(Boolean);
    const names = parts.filter((part) => !/^type\s/.test(part)).map((part) => part.replace(/\s+as\s+/, ': '));
    if (named[1]) names.unshift(`default: ${named[1]}`);
    return { names };
  };

  const IMPORT_STATEMENT = /(^|[;\n])([ \t]*)import\s+(?:([\w$*{},\s]+?)\s*from\s*)?("[^"\n]*"|'[^'\n]*')(?:\s*with\s*\{[^}]*\})?/g;

  const rewriteImports = (code) => {
    if (!/\bimport\b/.test(code)) return code;
    const textRanges = [];
    let offset = 0;
    for (const [isCode, text] of splitSource(code)) {
      if (!isCode) textRanges.push([offset, offset + text.length]);
      offset += text.length;
    }
    const isText = (at) => textRanges.some(([from, to]) => from <= at && at < to);
    // Each ends with a semicolon, since the next line may begin with a bracket.
    let out = code.replace(IMPORT_STATEMENT, (statement, lead, space, clause, name, at) => {
      if (isText(at + lead.length + space.length)) return statement;
      const lines = '\n'.repeat((statement.slice(lead.length).match(/\n/g) || []).length);
      const loaded = `await ${IMPORTER}(${name})`;
      if (!clause) return `${lead}${space}${loaded};${lines}`;
      const bindings = parseImportClause(clause);
      if (!bindings) return statement;
      const { namespace, defaultName } = bindings;
      if (namespace) {
        const second = defaultName ? `, ${defaultName} = ${namespace}.default` : '';
        return `${lead}${space}const ${namespace} = ${loaded}${second};${lines}`;
      }
      return `${lead}${space}const { ${bindings.names.join(', ')} } = ${loaded};${lines}`;
    });
    out = splitSource(out).map(([isCode, text]) => (isCode ? text.replace(/(?<![.\w$])import\s*\(/g, `${IMPORTER}(`) : text)).join('');
    return out;
  };

  const stripTypes = (code) => {
    const { stripTypeScriptTypes } = require('module');
    if (stripTypeScriptTypes) {
      process.removeAllListeners('warning');
      return stripTypeScriptTypes(code);
    }
    let compiler;
    try {
      compiler = require('module').createRequire(`${process.cwd()}/`)('typescript');
    } catch {
      // It is not installed.
    }
    if (!compiler || !compiler.transpileModule || !compiler.ScriptTarget) {
      const error = new Error(`Node ${process.versions.node} cannot run TypeScript; use Node 22.13 or later, or install the package typescript in this project (npm install typescript@5)`);
      error.name = 'Unavailable';
      throw error;
    }
    const { ESNext } = compiler.ScriptTarget;
    const compilerOptions = { target: ESNext, module: compiler.ModuleKind.ESNext, verbatimModuleSyntax: true };
    const output = compiler.transpileModule(code, { compilerOptions, reportDiagnostics: true });
    const diagnostic = output.diagnostics && output.diagnostics[0];
    if (diagnostic) throw new SyntaxError(compiler.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
    return output.outputText;
  };

  // At a prompt, `{a: 1}` means an object, not a block.
  const asExpression = (code) => {
    if (!/^\s*\{/.test(code) || /;\s*$/.test(code)) return code;
    try {
      new vm.Script(`(${code}\n)`);
      return `(${code}\n)`;
    } catch {
      return code;
    }
  };

  // --- redeclared names ----------------------------------------------------

  // V8 allows a name to be redeclared only by the same kind of keyword: block
  // scope (let, class), global scope (var, function), or const.

  // Returns the keywords of top-level declarations: [keyword, offset].
  const declarations = (code) => {
    const keywords = [];
    let depth = 0;
    let offset = 0;
    for (const [isCode, text] of splitSource(code)) {
      for (const match of isCode ? text.matchAll(/[([{]|[)\]}]|(?<![.\w$])(?:const|let|var|class|function)(?![\w$])/g) : []) {
        const [word] = match;
        if (word.length > 1) {
          if (depth === 0) keywords.push([word, offset + match.index]);
        } else depth += '([{'.includes(word) ? 1 : -1;
      }
      offset += text.length;
    }
    return keywords;
  };
  const splice = (code, from, to, text) => code.slice(0, from) + text + code.slice(to);

  const constToLet = (code) => {
    let out = code;
    for (const [word, at] of declarations(code).reverse()) {
      // Keeps the length, so positions in errors stay correct.
      if (word === 'const') out = splice(out, at, at + word.length, 'let  ');
    }
    return out;
  };

  // Returns the offset after the next pair of braces.
  const endOfBody = (code, start) => {
    let depth = 0;
    let offset = 0;
    for (const [isCode, text] of splitSource(code)) {
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

  // Returns the code with a name declared by the same kind of keyword as before;
  // null if that is not possible.
  const redeclare = (code, name) => {
    const keywords = declarations(code);
    const isName = new RegExp(`(?<![\\w$.])${name.replace(/\$/g, '\\$')}(?![\\w$])`);
    for (const [index, [word, at]] of keywords.entries()) {
      const next = index + 1 < keywords.length ? keywords[index + 1][1] : code.length;
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

  const redeclaresItself = (code) => {
    try {
      new vm.Script(`(async () => {${code}\n})`);
      return false;
    } catch (error) {
      return /already been declared/.test(error.message);
    }
  };

  // Returns the redeclared name that prevented the code from running. An error at
  // 1:1 means that nothing has run.
  const redeclaredName = (outcome) => {
    const details = outcome.result && outcome.result.exceptionDetails;
    const text = (details && details.exception && details.exception.description) || '';
    const match = /^SyntaxError: Identifier '([\w$]+)' has already been declared\n    at repl-\d+\.js:1:1(?:\n|$)/.exec(text);
    return match && match[1];
  };

  // --- running ------------------------------------------------------------

  const session = new inspector.Session();
  session.connect();
  let received;
  globalThis[Symbol.for('hermes.receive')] = (value) => {
    received = value;
  };
  const SPECIAL = { NaN: NaN, Infinity: Infinity, '-Infinity': -Infinity, '-0': -0 };
  const localValue = (remote) => {
    if (remote.objectId) {
      const functionDeclaration = 'function (value) { globalThis[Symbol.for("hermes.receive")](value) }';
      const { objectId } = remote;
      received = undefined;
      session.post('Runtime.callFunctionOn', { functionDeclaration, objectId, arguments: [{ objectId }] });
      const value = received;
      received = undefined;
      return value;
    }
    const special = remote.unserializableValue;
    if (special === undefined) return remote.subtype === 'null' ? null : remote.value;
    return special in SPECIAL ? SPECIAL[special] : BigInt(special.slice(0, -1));
  };

  let interrupt;
  process.on('SIGINT', () => interrupt && interrupt());
  const evaluate = (expression) =>
    new Promise((resolve) => {
      const interrupted = () => resolve({ interrupted: true });
      interrupt = interrupted;
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
  const describeError = (error, details) => {
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
    if (error.cause !== undefined) stack += `\nCaused by: ${isError(error.cause) ? describeError(error.cause).text : util.inspect(error.cause)}`;
    return { type: String(error.name || 'Error'), message, text: stack, line };
  };
  const errorReport = (error, details) => {
    try {
      const { type, message, text, line } = describeError(error, details);
      return { type, message: truncate(message, 4000), line, traceback: truncate(text, 8000) };
    } catch (other) {
      return { type: 'Error', message: 'The error cannot be formatted', line: null, traceback: String(other) };
    }
  };

  const typeOf = (value) => {
    if (value === null || typeof value !== 'object') return typeof value;
    const prototype = Object.getPrototypeOf(value);
    return (prototype && prototype.constructor && prototype.constructor.name) || 'object';
  };
  const format = (value) => {
    if (value === undefined) return null;
    const options = { depth: 4, maxArrayLength: 200, maxStringLength: MAX_VALUE_CHARS, breakLength: 100, showProxy: true };
    return { text: truncate(util.inspect(value, options), MAX_VALUE_CHARS), type: typeOf(value) };
  };

  const handleRequest = async ({ id, code, types }) => {
    const response = {};
    try {
      let source = constToLet(asExpression(rewriteImports(types ? stripTypes(code) : code)));
      const run = () => evaluate(`${source}\n//# sourceURL=repl-${id}.js`);
      let outcome = await run();
      for (let tries = 0, name; tries < 20 && (name = redeclaredName(outcome)) && !redeclaresItself(source); tries++) {
        const rewritten = redeclare(source, name);
        if (rewritten === null) break;
        source = rewritten;
        outcome = await run();
      }
      if (outcome.interrupted) {
        response.interrupted = true;
        response.error = { type: 'Interrupt', message: 'The code was interrupted', line: null, traceback: '' };
      } else if (outcome.error) {
        response.error = errorReport(outcome.error instanceof Error ? outcome.error : new Error(outcome.error.message));
      } else {
        const { result, exceptionDetails } = outcome.result;
        const value = localValue(exceptionDetails && exceptionDetails.exception ? exceptionDetails.exception : result);
        if (exceptionDetails) {
          globalThis._error = value;
          response.error = errorReport(value, exceptionDetails);
        } else {
          response.value = format(value);
          if (value !== undefined) globalThis._ = value;
        }
      }
    } catch (error) {
      response.error = errorReport(error);
    }
    interrupt = undefined;
    session.post('Runtime.releaseObjectGroup', { objectGroup: 'repl' });
    return response;
  };

  let buffered = boot.rest;
  let queue = Promise.resolve();
  const feed = (data) => {
    buffered = Buffer.concat([buffered, data]);
    for (;;) {
      const end = buffered.indexOf(10);
      if (end < 0) return;
      const size = Number(buffered.subarray(0, end).toString());
      if (buffered.length < end + 1 + size) return;
      const request = JSON.parse(buffered.subarray(end + 1, end + 1 + size).toString());
      buffered = buffered.subarray(end + 1 + size);
      queue = queue.then(async () => {
        const response = await handleRequest(request);
        sendMessage({ ...response, done: request.id });
        markStderrEnd();
      });
    }
  };
  const requests = new net.Socket({ fd: 3, readable: true, writable: false });
  requests.on('data', feed);
  // The client is gone.
  requests.on('close', () => process.reallyExit(0));
  requests.on('error', () => process.reallyExit(0));
  sendMessage({ ready: process.versions.node, program: process.execPath });
  markStderrEnd();
  feed(Buffer.alloc(0));
}
