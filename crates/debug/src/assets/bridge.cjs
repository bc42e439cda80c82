'use strict';
// Runs a program of Node under its own inspector, and speaks the Debug Adapter
// Protocol by standard input and output. No network is needed: the inspector's
// messages come by a socket that the program's process was given.
//
// Argument: JSON with `inside` (what is loaded before the program), `program`,
// `args` and `options` (those of node).
const {spawn} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const vm = require('node:vm');
const {fileURLToPath, pathToFileURL} = require('node:url');

const told = JSON.parse(process.argv[process.argv.length - 1]);
const MOST_TEXT = 4000;
const MOST_PARTS = 500;
const INTERNAL = ['^node:(?!assert|internal/assert)', '/node_modules/'];

// ---- messages to and from whoever debugs

const send = (message) => {
  const body = Buffer.from(JSON.stringify({seq: 0, ...message}));
  process.stdout.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
};
const event = (name, body) => send({type: 'event', event: name, body});

let input = Buffer.alloc(0);
process.stdin.on('data', (data) => {
  input = Buffer.concat([input, data]);
  for (;;) {
    const end = input.indexOf('\r\n\r\n');
    if (end < 0) return;
    const size = Number(/content-length: *(\d+)/i.exec(input.toString('latin1', 0, end))[1]);
    if (input.length < end + 4 + size) return;
    const text = input.toString('utf8', end + 4, end + 4 + size);
    input = input.subarray(end + 4 + size);
    answer(JSON.parse(text));
  }
});
process.stdin.on('end', () => end().then(() => process.exit(0)));

async function answer(request) {
  const {seq, command} = request;
  const reply = {type: 'response', request_seq: seq, command};
  try {
    const act = actions[command];
    if (!act) throw new Error(`${command} is not known here`);
    const body = await act(request.arguments || {});
    send({...reply, success: true, body: body || {}});
    if (command === 'launch') event('initialized', {});
  } catch (error) {
    send({...reply, success: false, message: String(error.message || error)});
  }
}

// ---- the program

let child;
let line;
let next = 1;
let pieces = 0; // of output
const waiting = new Map();

function start() {
  const folder = fs.mkdtempSync(path.join(told.scratch || os.tmpdir(), 'hermes-debug-'));
  const inside = path.join(folder, 'inside.cjs');
  fs.writeFileSync(inside, told.inside);
  child = spawn(process.execPath, ['-r', inside, ...told.options, told.program, ...told.args], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: {...process.env, HERMES_DEBUG_FD: '3'},
    detached: true,
  });
  const clean = () => fs.rmSync(folder, {recursive: true, force: true});
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8');
    child[name].on('data', (text) => {
      pieces++;
      const output = text.replace('Waiting for the debugger to disconnect...\n', '');
      if (output) event('output', {category: name, output});
    });
  }
  line = child.stdio[3];
  line.on('error', () => {});
  let rest = '';
  line.setEncoding('utf8');
  line.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const one of lines) heard(JSON.parse(one));
  });
  child.on('error', (error) => {
    clean();
    event('output', {category: 'stderr', output: `${error.message}\n`});
    event('exited', {exitCode: 127});
    event('terminated', {});
    setImmediate(() => process.exit(0));
  });
  child.on('close', (code, signal) => {
    clean();
    for (const {no} of waiting.values()) no(new Error('the program has ended'));
    event('exited', {exitCode: signal ? -os.constants.signals[signal] : code});
    event('terminated', {});
    process.stdout.write('', () => process.exit(0));
  });
  entered.then(clean);
}

async function end() {
  if (!child || child.exitCode !== null) return;
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    try {
      process.kill(-child.pid, signal);
    } catch {}
    for (let turn = 0; turn < 50 && child.exitCode === null && !child.signalCode; turn++) {
      await new Promise((done) => setTimeout(done, 20));
    }
  }
}

function inspect(method, params = {}) {
  const id = next++;
  return new Promise((yes, no) => {
    waiting.set(id, {yes, no});
    line.write(JSON.stringify({id, method, params}) + '\n');
  });
}

function heard(message) {
  const known = message.id && waiting.get(message.id);
  if (known) {
    waiting.delete(message.id);
    if (message.error) known.no(new Error(message.error.message));
    else known.yes(message.result);
    return;
  }
  const take = notices[message.method];
  if (take) take(message.params);
}

// ---- what is known of it

const scripts = new Map();
const breakpoints = new Map(); // the inspector's id → {id, file, hit, count, line}
let lastBreakpoint = 0;
let functions = []; // {id, name, found}
let named = []; // exceptions by name
let stop = null; // the pause: {frames, exception}
let handles = new Map();
let lastHandle = 0;
let enter;
const entered = new Promise((done) => { enter = done; });
let isEntered = false;
let isPauseAsked = false;

const handle = (thing) => {
  handles.set(++lastHandle, thing);
  return lastHandle;
};

const fileOf = (url) => {
  try {
    return url.startsWith('file:') ? fileURLToPath(url) : url;
  } catch {
    return url;
  }
};

const isOwn = (script) => script.url.startsWith('file:') && !script.url.includes('/node_modules/');

const notices = {
  'Debugger.scriptParsed'(script) {
    scripts.set(script.scriptId, script);
  },
  'Debugger.breakpointResolved'({breakpointId, location}) {
    const known = breakpoints.get(breakpointId);
    if (!known) return;
    event('breakpoint', {
      reason: 'changed',
      breakpoint: {id: known.id, verified: true, line: location.lineNumber + 1, source: {path: known.file}},
    });
  },
  'Debugger.paused'(pause) {
    if (!isEntered) {
      isEntered = true;
      enter();
      return;
    }
    if ((pause.hitBreakpoints || []).includes(entry)) {
      const script = scripts.get(pause.callFrames[0].location.scriptId);
      const seeks = script && !sought.has(script.scriptId) ? functions.map((one) => seek(one, script)) : [];
      if (script) sought.add(script.scriptId);
      const hitBreakpoints = pause.hitBreakpoints.filter((id) => id !== entry);
      Promise.allSettled(seeks)
        .then(() => (seeks.length ? justSet(pause.callFrames[0]) : []))
        .then((ids) => met({...pause, hitBreakpoints: [...new Set([...hitBreakpoints, ...ids])]}, !isStepping && !isPauseAsked));
      return;
    }
    if (pause.callFrames[0].functionName === 'hermesLast') last(pause);
    else met(pause, false);
  },
  'Debugger.resumed'() {
    stop = null;
  },
};

// Waits until what was printed so far has been told.
async function passedOn() {
  for (let before = -1; before !== pieces;) {
    before = pieces;
    for (let turn = 0; turn < 3; turn++) await new Promise((done) => setImmediate(done));
  }
}

// `isOurs`: it is for us alone, unless something else is there as well.
function met(pause, isOurs) {
  const wanted = isOurs && !pause.hitBreakpoints.length ? null : judge(pause);
  if (!wanted) {
    inspect('Debugger.resume').catch(() => {});
    return;
  }
  isPauseAsked = false;
  handles = new Map();
  stop = {frames: pause.callFrames, exception: wanted.exception};
  let {body} = wanted;
  // What a promise was refused with is only seen where nothing of ours runs.
  const isProject = ({location}) => isOwn(scripts.get(location.scriptId) || {url: ''});
  if (wanted.exception && !pause.callFrames.some(isProject)) {
    const traced = framesOf(wanted.exception);
    if (traced.length) {
      stop = {frames: [], traced, exception: wanted.exception};
      body = {...body, note: goneNote(wanted.exception)};
    }
  }
  const hits = (pause.hitBreakpoints || []).map((id) => breakpoints.get(id)).filter((one) => one && one.checks);
  Promise.allSettled(hits.map((one) => complain(one, pause.callFrames[0])))
    .then(passedOn)
    .then(() => event('stopped', {...body, threadId: 1, allThreadsStopped: true}));
}

// Says why a condition cannot be evaluated, if that is why it has stopped.
async function complain({checks}, {callFrameId}) {
  const {exceptionDetails} = await inspect('Debugger.evaluateOnCallFrame', {callFrameId, expression: checks, silent: true});
  if (!exceptionDetails) return;
  const {exception, text} = exceptionDetails;
  const why = ((exception && exception.description) || text).split('\n')[0];
  event('output', {category: 'stderr', output: `hermes: the breakpoint's ${checks} cannot be evaluated: ${why}\n`});
}

// A condition that stops where it cannot be evaluated, instead of never.
const guard = (condition) => `(() => { try { return Boolean(${condition}\n); } catch { return true; } })()`;

// What is wrong with an expression; nothing if it can be read.
function wrongWith(expression) {
  try {
    new vm.Script(`async () => (${expression}\n)`);
    return null;
  } catch (error) {
    return `${expression} cannot be read: ${error.message}`;
  }
}

// The frames that an error tells of.
const framesOf = ({description}) => {
  const traced = [...(description || '').matchAll(/^ +at (?:(?:async )?(.*?) \()?((?:file:|\/|node:).*?):(\d+):(\d+)\)?$/gm)];
  return traced.map(([, name, url, line]) => ({name: name || '(anonymous)', path: fileOf(url), line: Number(line)}));
};

const goneNote = ({className}) =>
  `Its variables are gone: it is caught and thrown again on its way. To see them, restart with stop_on: ["${className || 'raised'}"].`;

// The program is about to end because of an error. Its frames are gone.
async function last(pause) {
  if (!stopsUncaught || sawUncaught) {
    await inspect('Debugger.resume');
    return;
  }
  const common = {callFrameId: pause.callFrames[0].callFrameId, objectGroup: 'hermes'};
  const {result} = await inspect('Debugger.evaluateOnCallFrame', {...common, expression: 'error'});
  sawUncaught = true;
  handles = new Map();
  stop = {frames: [], traced: framesOf(result), exception: result};
  const note = goneNote(result);
  event('stopped', {reason: 'exception', description: (result.description || '').split('\n')[0], note, threadId: 1, allThreadsStopped: true});
}

// Whether somebody wants to see this pause, and what it is.
function judge(pause) {
  if (begin && (pause.hitBreakpoints || []).includes(begin)) {
    inspect('Debugger.removeBreakpoint', {breakpointId: begin}).catch(() => {});
    begin = null;
    return {body: {reason: 'entry'}};
  }
  const hits = (pause.hitBreakpoints || []).map((id) => breakpoints.get(id)).filter(Boolean);
  const counted = hits.filter((one) => hitCounts(one));
  if (counted.length) {
    return {body: {reason: counted[0].name ? 'function breakpoint' : 'breakpoint', hitBreakpointIds: counted.map((one) => one.id)}};
  }
  if (hits.length && pause.reason === 'other') return null;
  if (pause.reason === 'exception' || pause.reason === 'promiseRejection') {
    const exception = pause.data || {};
    const uncaught = exception.uncaught !== false;
    const isNamed = named.some((name) => name === exception.className || (exception.description || '').startsWith(name));
    if (named.length && !isNamed && !(uncaught && stopsUncaught)) return null;
    sawUncaught = sawUncaught || uncaught;
    const text = exception.description || String(exception.value);
    const body = {reason: 'exception', description: text.split('\n')[0].slice(0, MOST_TEXT), text: exception.className || exception.type};
    return {body, exception};
  }
  if (isPauseAsked) return {body: {reason: 'pause'}};
  return {body: {reason: pause.reason === 'debugCommand' || isStepping ? 'step' : 'debugger statement'}};
}

// A module as a program of the same length, with the same lines: what only a
// module may say is blanked.
function plain(text) {
  const blank = (found) => found.replace(/[^\n]/g, ' ');
  return text
    .replace(/^[ \t]*import\b(?!\s*[.(])[^;'"()]*(['"])[^'"\n]*\1[^\n;]*;?/gm, blank)
    .replace(/^[ \t]*export\s*(?:\{[^}]*\}|\*[^;'"\n]*)(?:\s*from\s*(['"])[^'"\n]*\1)?;?/gm, blank)
    // Elsewhere a function and a class have a name.
    .replace(/^([ \t]*)export[ \t]+default[ \t]+((?:async[ \t]+)?function[ \t]*\*?|class)(?=[ \t]*[({])/gm, (all, lead, kind) => `${lead}${kind} h`.padEnd(all.length))
    .replace(/^[ \t]*export\s+(?:default\b)?/gm, blank)
    .replace(/\bimport\.meta\b/g, 'import_meta');
}

// Where a program begins: not in a function that its first lines declare.
function firstPlace(file) {
  let place = null;
  const session = new (require('node:inspector').Session)();
  session.connect();
  try {
    const text = fs.readFileSync(file, 'utf8').replace(/^#!.*/, '');
    const lead = '(async function () {';
    session.post('Runtime.enable');
    session.post('Debugger.enable');
    for (const body of [text, plain(text)]) {
      if (place) break;
      const compiled = {expression: `${lead}${body}\n})`, sourceURL: 'hermes:first', persistScript: true};
      session.post('Runtime.compileScript', compiled, (error, {scriptId} = {}) => {
        if (error || !scriptId) return;
        const start = {scriptId, lineNumber: 0, columnNumber: lead.length - 1};
        session.post('Debugger.getPossibleBreakpoints', {start, restrictToFunction: true}, (error, {locations} = {}) => {
          const first = !error && locations[0];
          if (!first) return;
          const columnNumber = first.lineNumber ? first.columnNumber : first.columnNumber - lead.length;
          place = {lineNumber: first.lineNumber, columnNumber};
        });
      });
    }
  } catch {
    // What cannot be read begins somewhere.
  } finally {
    session.disconnect();
  }
  return place || {lineNumber: 0};
}

let isStepping = false;
let entry = null;
let begin = null;
const sought = new Set();
let stopsUncaught = false;
let sawUncaught = false;

function hitCounts(one) {
  one.count = (one.count || 0) + 1;
  if (!one.hit) return true;
  const [, sign, text] = /^\s*(>=|<=|==|=|>|<|%)?\s*(\d+)\s*$/.exec(one.hit) || [];
  const number = Number(text);
  switch (sign) {
    case '>': return one.count > number;
    case '>=': return one.count >= number;
    case '<': return one.count < number;
    case '<=': return one.count <= number;
    case '%': return one.count % number === 0;
    default: return one.count === number;
  }
}

// A function is found by how its beginning looks.
async function seek(wanted, script) {
  const {scriptSource} = await inspect('Debugger.getScriptSource', {scriptId: script.scriptId});
  const name = wanted.name.split('.').pop().replace(/[^\w$]/g, '');
  const looks = new RegExp(
    `\\bfunction\\s*\\*?\\s*${name}\\s*\\(|\\b${name}\\s*[:=]\\s*(?:async\\s*)?(?:function\\b|\\(|\\w+\\s*=>)|^[ \\t]*(?:static\\s+|async\\s+|\\*\\s*|get\\s+|set\\s+)*${name}\\s*\\([^)\\n]*\\)\\s*\\{`,
    'mg');
  for (let match; (match = looks.exec(scriptSource)) && wanted.found < 20;) {
    const open = scriptSource.indexOf('{', match.index + match[0].length - 1);
    if (open < 0) continue;
    const before = scriptSource.slice(0, open + 1).split('\n');
    const start = {scriptId: script.scriptId, lineNumber: before.length - 1, columnNumber: before.pop().length};
    const {locations} = await inspect('Debugger.getPossibleBreakpoints', {start, restrictToFunction: true});
    if (!locations.length) continue;
    const set = await inspect('Debugger.setBreakpoint', {location: locations[0], condition: wanted.condition});
    wanted.found++;
    breakpoints.set(set.breakpointId, {...wanted, file: fileOf(script.url), at: set.actualLocation});
    event('breakpoint', {
      reason: 'changed',
      breakpoint: {id: wanted.id, verified: true, line: set.actualLocation.lineNumber + 1, source: {path: fileOf(script.url)}},
    });
  }
}

// The breakpoints of functions that it stands at without having met them: a
// file may begin with such a function, and they were set only now.
async function justSet({callFrameId, location}) {
  const ids = [];
  for (const [id, {at, condition}] of breakpoints) {
    if (!at || ['scriptId', 'lineNumber', 'columnNumber'].some((key) => at[key] !== location[key])) continue;
    const is = condition && await inspect('Debugger.evaluateOnCallFrame', {callFrameId, expression: `Boolean(${condition})`, silent: true});
    if (!is || is.result.value === true) ids.push(id);
  }
  return ids;
}

// ---- values

function short(value) {
  if (value.unserializableValue) return value.unserializableValue;
  if (value.type === 'undefined') return 'undefined';
  if (value.subtype === 'null') return 'null';
  if (value.type === 'string') return JSON.stringify(value.value.slice(0, MOST_TEXT));
  if (value.type === 'function') return (value.description || 'function').split('\n')[0].slice(0, 120);
  if ('value' in value) return JSON.stringify(value.value).slice(0, MOST_TEXT);
  const parts = value.preview && value.preview.properties;
  const entries = value.preview && value.preview.entries;
  if (entries) {
    const told = entries.map((one) => (one.key ? `${one.key.description} => ${one.value.description}` : one.value.description));
    return `${value.description} {${told.join(', ')}${value.preview.overflow ? ', …' : ''}}`;
  }
  if (parts && (!value.subtype || value.subtype === 'array')) {
    const show = (one) => (one.type === 'string' ? JSON.stringify(one.value) : one.value);
    const more = value.preview.overflow ? ', …' : '';
    return value.subtype === 'array'
      ? `[${parts.map(show).join(', ')}${more}]`
      : `${value.className === 'Object' ? '' : `${value.className} `}{${parts.map((one) => `${one.name}: ${show(one)}`).join(', ')}${more}}`;
  }
  return (value.description || value.type).slice(0, MOST_TEXT);
}

function shown(name, value, extra = {}) {
  const isTree = value.objectId && value.type !== 'function';
  return {
    name,
    value: short(value),
    type: value.className || value.subtype || value.type,
    variablesReference: isTree ? handle({object: value.objectId}) : 0,
    ...(value.subtype === 'array' && /\((\d+)\)$/.test(value.description || '')
      ? {indexedVariables: Number(/\((\d+)\)$/.exec(value.description)[1])} : {}),
    ...extra,
  };
}

// A part of something long: to look at all of it would take too long.
async function few(objectId, from, count) {
  const {result} = await inspect('Runtime.callFunctionOn', {
    objectId,
    objectGroup: 'hermes',
    arguments: [{value: from}, {value: Math.min(count, MOST_PARTS)}],
    functionDeclaration: `function (from, count) {
      const keys = Object.keys(this);
      if (keys.length <= count && from === 0) return this;
      const some = {};
      for (const key of keys.slice(from, from + count)) {
        Object.defineProperty(some, key, Object.getOwnPropertyDescriptor(this, key));
      }
      return some;
    }`,
  });
  return result.objectId || objectId;
}

const evaluateIn = async (params, frame) => {
  const common = {expression: params.expression, generatePreview: true, objectGroup: 'hermes'};
  const done = frame
    ? await inspect('Debugger.evaluateOnCallFrame', {...common, callFrameId: frame.callFrameId})
    : await inspect('Runtime.evaluate', {...common, replMode: true});
  if (done.exceptionDetails) {
    const {exception, text} = done.exceptionDetails;
    throw new Error(((exception && exception.description) || text).split('\n')[0]);
  }
  return done.result;
};

const resume = (method, params) => async () => {
  isStepping = method !== 'Debugger.resume';
  await inspect(method, params);
  return {allThreadsContinued: true};
};

const need = () => {
  if (!stop) throw new Error('the program is running');
  return stop;
};

// ---- what can be asked for

const actions = {
  initialize: () => ({
    supportsConfigurationDoneRequest: true,
    supportsConditionalBreakpoints: true,
    supportsHitConditionalBreakpoints: true,
    supportsFunctionBreakpoints: true,
    supportsLogPoints: true,
    supportsExceptionInfoRequest: true,
    exceptionBreakpointFilters: [{filter: 'all', label: 'All'}, {filter: 'uncaught', label: 'Uncaught'}],
  }),
  async launch({justMyCode}) {
    start();
    await entered;
    if (justMyCode !== false) await inspect('Debugger.setBlackboxPatterns', {patterns: INTERNAL});
    await inspect('Debugger.setAsyncCallStackDepth', {maxDepth: 8});
  },
  async setBreakpoints({source, breakpoints: wanted}) {
    const file = fs.realpathSync(source.path);
    for (const [id, known] of breakpoints) {
      if (known.file === file && !known.name) {
        breakpoints.delete(id);
        await inspect('Debugger.removeBreakpoint', {breakpointId: id});
      }
    }
    const answers = [];
    for (const one of wanted || []) {
      const id = ++lastBreakpoint;
      const text = one.logMessage && `\`${one.logMessage.replace(/[`\\]/g, '\\$&').replace(/\{/g, '${')}\``;
      const checks = one.condition || text || undefined;
      const wrong = [one.condition, text].filter(Boolean).map(wrongWith).find(Boolean);
      if (wrong) {
        answers.push({id, verified: false, line: one.line, message: wrong});
        continue;
      }
      let condition = one.condition;
      if (text) condition = `(${condition || 'true'}\n) && (console.log(${text}), false)`;
      condition = condition && guard(condition);
      try {
        const set = await inspect('Debugger.setBreakpointByUrl', {
          url: pathToFileURL(file).href, lineNumber: one.line - 1, condition,
        });
        breakpoints.set(set.breakpointId, {id, file, hit: one.hitCondition, checks});
        const [at] = set.locations;
        answers.push({id, verified: Boolean(at), line: at ? at.lineNumber + 1 : one.line});
      } catch (error) {
        answers.push({id, verified: false, line: one.line, message: error.message});
      }
    }
    return {breakpoints: answers};
  },
  async setFunctionBreakpoints({breakpoints: wanted}) {
    for (const [id, known] of breakpoints) {
      if (known.name) {
        breakpoints.delete(id);
        await inspect('Debugger.removeBreakpoint', {breakpointId: id});
      }
    }
    const all = (wanted || []).map((one) => ({
      id: ++lastBreakpoint, name: one.name, condition: one.condition && guard(one.condition),
      checks: one.condition || undefined, hit: one.hitCondition, found: 0,
      message: one.condition && wrongWith(one.condition) || undefined,
    }));
    functions = all.filter((one) => !one.message);
    sought.clear();
    if (functions.length && !entry) {
      // The beginning of each script, before any of its functions is called.
      const set = await inspect('Debugger.setBreakpointByUrl', {urlRegex: '^file:(?!.*/node_modules/)', lineNumber: 0});
      entry = set.breakpointId;
    }
    for (const script of [...scripts.values()].filter(isOwn)) {
      for (const one of functions) await seek(one, script).catch(() => {});
    }
    return {breakpoints: all.map(({id, found, message}) => ({id, verified: found > 0, message}))};
  },
  async setExceptionBreakpoints({filters, names}) {
    named = names || [];
    stopsUncaught = filters.includes('uncaught');
    const state = filters.includes('all') || named.length ? 'all' : stopsUncaught ? 'uncaught' : 'none';
    if (filters.includes('all')) named = [];
    await inspect('Debugger.setPauseOnExceptions', {state});
  },
  async configurationDone() {
    if (told.stopOnEntry) {
      const url = pathToFileURL(fs.realpathSync(told.program)).href;
      begin = (await inspect('Debugger.setBreakpointByUrl', {url, ...firstPlace(told.program)})).breakpointId;
    }
    await inspect('Debugger.resume');
  },
  threads: () => ({threads: [{id: 1, name: 'main'}]}),
  stackTrace({levels}) {
    const {frames, traced} = need();
    if (traced) {
      const told = traced.map(({name, path: file, line: number}, at) => ({id: at + 1, name, line: number, column: 1, source: {path: file}}));
      return {stackFrames: told, totalFrames: told.length};
    }
    const some = frames.slice(0, levels || 200);
    const stackFrames = some.map((frame, at) => {
      const script = scripts.get(frame.location.scriptId);
      return {
        id: at + 1,
        name: frame.functionName || '(anonymous)',
        line: frame.location.lineNumber + 1,
        column: (frame.location.columnNumber || 0) + 1,
        source: {path: fileOf((script && script.url) || frame.url || '')},
      };
    });
    return {stackFrames, totalFrames: frames.length};
  },
  scopes({frameId}) {
    if (need().traced) return {scopes: []};
    const frame = need().frames[frameId - 1];
    if (!frame) throw new Error('there is no such frame');
    const scopes = [];
    for (const scope of frame.scopeChain) {
      if (scope.type === 'global' || scope.type === 'script') continue;
      const extra = scope === frame.scopeChain[0] && frame.this && frame.this.objectId && frame.this.className !== 'global' ? [['this', frame.this]] : [];
      scopes.push({
        name: scope.type, expensive: false,
        variablesReference: handle({object: scope.object.objectId, extra, isScope: true}),
      });
    }
    return {scopes};
  },
  async variables({variablesReference, start: from = 0, count}) {
    const known = handles.get(variablesReference);
    if (!known) throw new Error('that value is not there any more');
    const objectId = known.isScope ? known.object : await few(known.object, from, count || MOST_PARTS);
    const {result} = await inspect('Runtime.getProperties', {objectId, ownProperties: true, generatePreview: true});
    const all = [...(known.extra || []).map(([name, value]) => ({name, value}))];
    for (const one of result) {
      if (one.name === '__proto__' || (one.name === 'length' && !known.isScope && !one.enumerable)) continue;
      all.push(one.value ? one : {name: one.name, value: {type: 'accessor', description: one.get ? '(getter)' : '(unset)'}});
    }
    const wrapper = ['exports', 'require', 'module', '__filename', '__dirname'];
    const isWrapper = known.isScope && wrapper.every((name) => all.some((one) => one.name === name));
    const some = all.filter((one) => !isWrapper || !(wrapper.includes(one.name) || one.name === 'this'));
    const part = some.slice(0, MOST_PARTS);
    return {variables: part.map((one) => shown(one.name, one.value))};
  },
  async evaluate(params) {
    const frame = params.frameId ? need().frames[params.frameId - 1] : null;
    const value = shown('', await evaluateIn(params, frame));
    return {result: value.value, type: value.type, variablesReference: value.variablesReference, indexedVariables: value.indexedVariables};
  },
  exceptionInfo() {
    const {exception} = need();
    if (!exception) throw new Error('there is no exception');
    const text = exception.description || short(exception);
    const [first] = text.split('\n');
    return {
      exceptionId: exception.className || exception.type,
      description: first.slice(0, MOST_TEXT),
      breakMode: 'unhandled',
      details: {typeName: exception.className, message: first.replace(/^[\w.]*(?: \[\w+\])?: /, ''), stackTrace: text.slice(0, MOST_TEXT)},
    };
  },
  continue: resume('Debugger.resume'),
  next: resume('Debugger.stepOver'),
  stepIn: resume('Debugger.stepInto'),
  stepOut: resume('Debugger.stepOut'),
  async pause() {
    isPauseAsked = true;
    await inspect('Debugger.pause');
  },
  async disconnect() {
    await end();
  },
};
actions.terminate = actions.disconnect;
