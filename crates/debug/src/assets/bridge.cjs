'use strict';
// Runs a Node program under its inspector, and speaks the Debug Adapter Protocol
// on standard input and output. Inspector messages use a socket that the child
// process inherits, so no network is needed.
//
// Argument: JSON with `inside` (the source of a module to load before the
// program), `program`, `args` and `options` (of node).
const {spawn} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const vm = require('node:vm');
const {fileURLToPath, pathToFileURL} = require('node:url');

const config = JSON.parse(process.argv[process.argv.length - 1]);
const MAX_TEXT_CHARS = 4000;
const MAX_CHILDREN = 500;
const INTERNAL_PATTERNS = ['^node:(?!assert|internal/assert)', '/node_modules/'];

// ---- messages to and from the client

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
    handleRequest(JSON.parse(text));
  }
});
process.stdin.on('end', () => terminate().then(() => process.exit(0)));

async function handleRequest(request) {
  const {seq, command} = request;
  const reply = {type: 'response', request_seq: seq, command};
  try {
    const handler = handlers[command];
    if (!handler) throw new Error(`the request ${command} is not supported`);
    const body = await handler(request.arguments || {});
    send({...reply, success: true, body: body || {}});
    if (command === 'launch') event('initialized', {});
  } catch (error) {
    send({...reply, success: false, message: String(error.message || error)});
  }
}

// ---- the program

let child;
let connection;
let nextId = 1;
let outputCount = 0;
const pending = new Map();

function start() {
  const directory = fs.mkdtempSync(path.join(config.scratch || os.tmpdir(), 'hermes-debug-'));
  const inside = path.join(directory, 'inside.cjs');
  fs.writeFileSync(inside, config.inside);
  child = spawn(process.execPath, ['-r', inside, ...config.options, config.program, ...config.args], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: {...process.env, HERMES_DEBUG_FD: '3'},
    detached: true,
  });
  const removeDirectory = () => fs.rmSync(directory, {recursive: true, force: true});
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8');
    child[name].on('data', (text) => {
      outputCount++;
      const output = text.replace('Waiting for the debugger to disconnect...\n', '');
      if (output) event('output', {category: name, output});
    });
  }
  connection = child.stdio[3];
  connection.on('error', () => {});
  let rest = '';
  connection.setEncoding('utf8');
  connection.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) handleInspectorMessage(JSON.parse(line));
  });
  child.on('error', (error) => {
    removeDirectory();
    event('output', {category: 'stderr', output: `${error.message}\n`});
    event('exited', {exitCode: 127});
    event('terminated', {});
    setImmediate(() => process.exit(0));
  });
  child.on('close', (code, signal) => {
    removeDirectory();
    for (const {reject} of pending.values()) reject(new Error('the program has ended'));
    event('exited', {exitCode: signal ? -os.constants.signals[signal] : code});
    event('terminated', {});
    process.stdout.write('', () => process.exit(0));
  });
  entered.then(removeDirectory);
}

async function terminate() {
  if (!child || child.exitCode !== null) return;
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    try {
      process.kill(-child.pid, signal);
    } catch {}
    for (let attempt = 0; attempt < 50 && child.exitCode === null && !child.signalCode; attempt++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function inspect(method, params = {}) {
  const id = nextId++;
  return new Promise((resolve, reject) => {
    pending.set(id, {resolve, reject});
    connection.write(JSON.stringify({id, method, params}) + '\n');
  });
}

function handleInspectorMessage(message) {
  const call = message.id && pending.get(message.id);
  if (call) {
    pending.delete(message.id);
    if (message.error) call.reject(new Error(message.error.message));
    else call.resolve(message.result);
    return;
  }
  const handler = notificationHandlers[message.method];
  if (handler) handler(message.params);
}

// ---- state of the program

const scripts = new Map();
const breakpoints = new Map(); // the inspector's id → {id, file, hit, count}
let lastBreakpoint = 0;
let functions = []; // {id, name, found}
let exceptionNames = []; // to stop at
let stop = null; // the pause: {frames, exception}
let handles = new Map();
let lastHandle = 0;
let resolveEntered;
const entered = new Promise((resolve) => { resolveEntered = resolve; });
let isEntered = false;
let isPauseRequested = false;

const addHandle = (target) => {
  handles.set(++lastHandle, target);
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

const notificationHandlers = {
  'Debugger.scriptParsed'(script) {
    scripts.set(script.scriptId, script);
  },
  'Debugger.breakpointResolved'({breakpointId, location}) {
    const breakpoint = breakpoints.get(breakpointId);
    if (!breakpoint) return;
    event('breakpoint', {
      reason: 'changed',
      breakpoint: {id: breakpoint.id, verified: true, line: location.lineNumber + 1, source: {path: breakpoint.file}},
    });
  },
  'Debugger.paused'(pause) {
    if (!isEntered) {
      isEntered = true;
      resolveEntered();
      return;
    }
    if ((pause.hitBreakpoints || []).includes(scriptEntryId)) {
      const script = scripts.get(pause.callFrames[0].location.scriptId);
      const searches = script && !searchedScripts.has(script.scriptId) ? functions.map((wanted) => findFunction(wanted, script)) : [];
      if (script) searchedScripts.add(script.scriptId);
      const hitBreakpoints = pause.hitBreakpoints.filter((id) => id !== scriptEntryId);
      Promise.allSettled(searches)
        .then(() => (searches.length ? breakpointsAt(pause.callFrames[0]) : []))
        .then((ids) => handlePause({...pause, hitBreakpoints: [...new Set([...hitBreakpoints, ...ids])]}, !isStepping && !isPauseRequested));
      return;
    }
    if (pause.callFrames[0].functionName === 'hermesUncaught') handleUncaught(pause);
    else handlePause(pause, false);
  },
  'Debugger.resumed'() {
    stop = null;
  },
};

// Waits until the output printed so far has been forwarded.
async function outputForwarded() {
  for (let before = -1; before !== outputCount;) {
    before = outputCount;
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

// Reports a pause or resumes. `isInternal`: the pause is only for the bridge,
// unless it hits a breakpoint too.
function handlePause(pause, isInternal) {
  const reported = isInternal && !pause.hitBreakpoints.length ? null : classify(pause);
  if (!reported) {
    inspect('Debugger.resume').catch(() => {});
    return;
  }
  isPauseRequested = false;
  handles = new Map();
  stop = {frames: pause.callFrames, exception: reported.exception};
  let {body} = reported;
  // A rejected promise pauses where no code of the project is on the stack.
  const isProject = ({location}) => isOwn(scripts.get(location.scriptId) || {url: ''});
  if (reported.exception && !pause.callFrames.some(isProject)) {
    const traced = framesOf(reported.exception);
    if (traced.length) {
      stop = {frames: [], traced, exception: reported.exception};
      body = {...body, note: noVariablesNote(reported.exception)};
    }
  }
  const hits = (pause.hitBreakpoints || []).map((id) => breakpoints.get(id)).filter((hit) => hit && hit.checks);
  Promise.allSettled(hits.map((hit) => reportConditionError(hit, pause.callFrames[0])))
    .then(outputForwarded)
    .then(() => event('stopped', {...body, threadId: 1, allThreadsStopped: true}));
}

// Reports why a condition cannot be evaluated, if that caused the stop.
async function reportConditionError({checks}, {callFrameId}) {
  const {exceptionDetails} = await inspect('Debugger.evaluateOnCallFrame', {callFrameId, expression: checks, silent: true});
  if (!exceptionDetails) return;
  const {exception, text} = exceptionDetails;
  const reason = ((exception && exception.description) || text).split('\n')[0];
  event('output', {category: 'stderr', output: `hermes: the breakpoint expression ${checks} cannot be evaluated: ${reason}\n`});
}

// Returns a condition that stops if it cannot be evaluated, instead of never.
const stopOnError = (condition) => `(() => { try { return Boolean(${condition}\n); } catch { return true; } })()`;

// Returns the syntax error of an expression; null if it has none.
function syntaxError(expression) {
  try {
    new vm.Script(`async () => (${expression}\n)`);
    return null;
  } catch (error) {
    return `${expression} cannot be parsed: ${error.message}`;
  }
}

// Returns the frames in the stack trace of an error.
const framesOf = ({description}) => {
  const matches = [...(description || '').matchAll(/^ +at (?:(?:async )?(.*?) \()?((?:file:|\/|node:).*?):(\d+):(\d+)\)?$/gm)];
  return matches.map(([, name, url, line]) => ({name: name || '(anonymous)', path: fileOf(url), line: Number(line)}));
};

const noVariablesNote = ({className}) =>
  `Variables are not available: the exception was caught and thrown again. To see them, restart with stop_on: ["${className || 'raised'}"].`;

// Reports an uncaught error that ends the program. Its frames are not available.
async function handleUncaught(pause) {
  if (!stopsUncaught || sawUncaught) {
    await inspect('Debugger.resume');
    return;
  }
  const common = {callFrameId: pause.callFrames[0].callFrameId, objectGroup: 'hermes'};
  const {result} = await inspect('Debugger.evaluateOnCallFrame', {...common, expression: 'error'});
  sawUncaught = true;
  handles = new Map();
  stop = {frames: [], traced: framesOf(result), exception: result};
  const note = noVariablesNote(result);
  event('stopped', {reason: 'exception', description: (result.description || '').split('\n')[0], note, threadId: 1, allThreadsStopped: true});
}

// Returns how to report a pause; null if it is not to be reported.
function classify(pause) {
  if (programEntryId && (pause.hitBreakpoints || []).includes(programEntryId)) {
    inspect('Debugger.removeBreakpoint', {breakpointId: programEntryId}).catch(() => {});
    programEntryId = null;
    return {body: {reason: 'entry'}};
  }
  const hits = (pause.hitBreakpoints || []).map((id) => breakpoints.get(id)).filter(Boolean);
  const counted = hits.filter(countHit);
  if (counted.length) {
    return {body: {reason: counted[0].name ? 'function breakpoint' : 'breakpoint', hitBreakpointIds: counted.map(({id}) => id)}};
  }
  if (hits.length && pause.reason === 'other') return null;
  if (pause.reason === 'exception' || pause.reason === 'promiseRejection') {
    const exception = pause.data || {};
    const uncaught = exception.uncaught !== false;
    const isNamed = exceptionNames.some((name) => name === exception.className || (exception.description || '').startsWith(name));
    if (exceptionNames.length && !isNamed && !(uncaught && stopsUncaught)) return null;
    sawUncaught = sawUncaught || uncaught;
    const text = exception.description || String(exception.value);
    const body = {reason: 'exception', description: text.split('\n')[0].slice(0, MAX_TEXT_CHARS), text: exception.className || exception.type};
    return {body, exception};
  }
  if (isPauseRequested) return {body: {reason: 'pause'}};
  return {body: {reason: pause.reason === 'debugCommand' || isStepping ? 'step' : 'debugger statement'}};
}

// Returns a module as a script with the same positions: syntax that only modules
// allow is blanked.
function moduleToScript(text) {
  const blank = (match) => match.replace(/[^\n]/g, ' ');
  return text
    .replace(/^[ \t]*import\b(?!\s*[.(])[^;'"()]*(['"])[^'"\n]*\1[^\n;]*;?/gm, blank)
    .replace(/^[ \t]*export\s*(?:\{[^}]*\}|\*[^;'"\n]*)(?:\s*from\s*(['"])[^'"\n]*\1)?;?/gm, blank)
    // In a script, a function or class declaration needs a name.
    .replace(/^([ \t]*)export[ \t]+default[ \t]+((?:async[ \t]+)?function[ \t]*\*?|class)(?=[ \t]*[({])/gm, (all, lead, kind) => `${lead}${kind} h`.padEnd(all.length))
    .replace(/^[ \t]*export\s+(?:default\b)?/gm, blank)
    .replace(/\bimport\.meta\b/g, 'import_meta');
}

// Returns where a program begins, which is not in a function it declares.
function firstLocation(file) {
  let result = null;
  const session = new (require('node:inspector').Session)();
  session.connect();
  try {
    const text = fs.readFileSync(file, 'utf8').replace(/^#!.*/, '');
    const lead = '(async function () {';
    session.post('Runtime.enable');
    session.post('Debugger.enable');
    for (const body of [text, moduleToScript(text)]) {
      if (result) break;
      const compiled = {expression: `${lead}${body}\n})`, sourceURL: 'hermes:first', persistScript: true};
      session.post('Runtime.compileScript', compiled, (error, {scriptId} = {}) => {
        if (error || !scriptId) return;
        const start = {scriptId, lineNumber: 0, columnNumber: lead.length - 1};
        session.post('Debugger.getPossibleBreakpoints', {start, restrictToFunction: true}, (error, {locations} = {}) => {
          const first = !error && locations[0];
          if (!first) return;
          const columnNumber = first.lineNumber ? first.columnNumber : first.columnNumber - lead.length;
          result = {lineNumber: first.lineNumber, columnNumber};
        });
      });
    }
  } catch {
    // An unreadable program begins at line 0.
  } finally {
    session.disconnect();
  }
  return result || {lineNumber: 0};
}

let isStepping = false;
let scriptEntryId = null; // breakpoint at the beginning of each script
let programEntryId = null; // breakpoint for stopOnEntry
const searchedScripts = new Set();
let stopsUncaught = false;
let sawUncaught = false;

// Counts a hit; returns whether the hit condition holds.
function countHit(breakpoint) {
  const count = breakpoint.count = (breakpoint.count || 0) + 1;
  if (!breakpoint.hit) return true;
  const [, sign, text] = /^\s*(>=|<=|==|=|>|<|%)?\s*(\d+)\s*$/.exec(breakpoint.hit) || [];
  const number = Number(text);
  switch (sign) {
    case '>': return count > number;
    case '>=': return count >= number;
    case '<': return count < number;
    case '<=': return count <= number;
    case '%': return count % number === 0;
    default: return count === number;
  }
}

// Sets breakpoints at the functions with a name, found by their syntax.
async function findFunction(wanted, script) {
  const {scriptSource} = await inspect('Debugger.getScriptSource', {scriptId: script.scriptId});
  const name = wanted.name.split('.').pop().replace(/[^\w$]/g, '');
  const pattern = new RegExp(
    `\\bfunction\\s*\\*?\\s*${name}\\s*\\(|\\b${name}\\s*[:=]\\s*(?:async\\s*)?(?:function\\b|\\(|\\w+\\s*=>)|^[ \\t]*(?:static\\s+|async\\s+|\\*\\s*|get\\s+|set\\s+)*${name}\\s*\\([^)\\n]*\\)\\s*\\{`,
    'mg');
  for (let match; (match = pattern.exec(scriptSource)) && wanted.found < 20;) {
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

// Returns the function breakpoints at the current location. They were set only
// now, so a file that begins with such a function has not hit them.
async function breakpointsAt({callFrameId, location}) {
  const ids = [];
  for (const [id, {at, condition}] of breakpoints) {
    if (!at || ['scriptId', 'lineNumber', 'columnNumber'].some((key) => at[key] !== location[key])) continue;
    const holds = condition && await inspect('Debugger.evaluateOnCallFrame', {callFrameId, expression: `Boolean(${condition})`, silent: true});
    if (!holds || holds.result.value === true) ids.push(id);
  }
  return ids;
}

// ---- values

function summarize(value) {
  if (value.unserializableValue) return value.unserializableValue;
  if (value.type === 'undefined') return 'undefined';
  if (value.subtype === 'null') return 'null';
  if (value.type === 'string') return JSON.stringify(value.value.slice(0, MAX_TEXT_CHARS));
  if (value.type === 'function') return (value.description || 'function').split('\n')[0].slice(0, 120);
  if ('value' in value) return JSON.stringify(value.value).slice(0, MAX_TEXT_CHARS);
  const properties = value.preview && value.preview.properties;
  const entries = value.preview && value.preview.entries;
  if (entries) {
    const items = entries.map(({key, value: item}) => (key ? `${key.description} => ${item.description}` : item.description));
    return `${value.description} {${items.join(', ')}${value.preview.overflow ? ', …' : ''}}`;
  }
  if (properties && (!value.subtype || value.subtype === 'array')) {
    const show = (property) => (property.type === 'string' ? JSON.stringify(property.value) : property.value);
    const more = value.preview.overflow ? ', …' : '';
    return value.subtype === 'array'
      ? `[${properties.map(show).join(', ')}${more}]`
      : `${value.className === 'Object' ? '' : `${value.className} `}{${properties.map((property) => `${property.name}: ${show(property)}`).join(', ')}${more}}`;
  }
  return (value.description || value.type).slice(0, MAX_TEXT_CHARS);
}

function variable(name, value, extra = {}) {
  const hasChildren = value.objectId && value.type !== 'function';
  return {
    name,
    value: summarize(value),
    type: value.className || value.subtype || value.type,
    variablesReference: hasChildren ? addHandle({object: value.objectId}) : 0,
    ...(value.subtype === 'array' && /\((\d+)\)$/.test(value.description || '')
      ? {indexedVariables: Number(/\((\d+)\)$/.exec(value.description)[1])} : {}),
    ...extra,
  };
}

// Returns an object with a range of the properties, since all may be too many.
async function propertyRange(objectId, from, count) {
  const {result} = await inspect('Runtime.callFunctionOn', {
    objectId,
    objectGroup: 'hermes',
    arguments: [{value: from}, {value: Math.min(count, MAX_CHILDREN)}],
    functionDeclaration: `function (from, count) {
      const keys = Object.keys(this);
      if (keys.length <= count && from === 0) return this;
      const range = {};
      for (const key of keys.slice(from, from + count)) {
        Object.defineProperty(range, key, Object.getOwnPropertyDescriptor(this, key));
      }
      return range;
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

const requireStop = () => {
  if (!stop) throw new Error('the program is running; pause it first');
  return stop;
};

// ---- requests

const handlers = {
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
    if (justMyCode !== false) await inspect('Debugger.setBlackboxPatterns', {patterns: INTERNAL_PATTERNS});
    await inspect('Debugger.setAsyncCallStackDepth', {maxDepth: 8});
  },
  async setBreakpoints({source, breakpoints: wanted}) {
    const file = fs.realpathSync(source.path);
    for (const [id, breakpoint] of breakpoints) {
      if (breakpoint.file === file && !breakpoint.name) {
        breakpoints.delete(id);
        await inspect('Debugger.removeBreakpoint', {breakpointId: id});
      }
    }
    const results = [];
    for (const request of wanted || []) {
      const id = ++lastBreakpoint;
      const text = request.logMessage && `\`${request.logMessage.replace(/[`\\]/g, '\\$&').replace(/\{/g, '${')}\``;
      const checks = request.condition || text || undefined;
      const error = [request.condition, text].filter(Boolean).map(syntaxError).find(Boolean);
      if (error) {
        results.push({id, verified: false, line: request.line, message: error});
        continue;
      }
      let condition = request.condition;
      if (text) condition = `(${condition || 'true'}\n) && (console.log(${text}), false)`;
      condition = condition && stopOnError(condition);
      try {
        const set = await inspect('Debugger.setBreakpointByUrl', {
          url: pathToFileURL(file).href, lineNumber: request.line - 1, condition,
        });
        breakpoints.set(set.breakpointId, {id, file, hit: request.hitCondition, checks});
        const [location] = set.locations;
        results.push({id, verified: Boolean(location), line: location ? location.lineNumber + 1 : request.line});
      } catch (error) {
        results.push({id, verified: false, line: request.line, message: error.message});
      }
    }
    return {breakpoints: results};
  },
  async setFunctionBreakpoints({breakpoints: wanted}) {
    for (const [id, breakpoint] of breakpoints) {
      if (breakpoint.name) {
        breakpoints.delete(id);
        await inspect('Debugger.removeBreakpoint', {breakpointId: id});
      }
    }
    const all = (wanted || []).map(({name, condition, hitCondition}) => ({
      id: ++lastBreakpoint, name, condition: condition && stopOnError(condition),
      checks: condition || undefined, hit: hitCondition, found: 0,
      message: condition && syntaxError(condition) || undefined,
    }));
    functions = all.filter(({message}) => !message);
    searchedScripts.clear();
    if (functions.length && !scriptEntryId) {
      // Stops at the beginning of each script, before any function is called.
      const set = await inspect('Debugger.setBreakpointByUrl', {urlRegex: '^file:(?!.*/node_modules/)', lineNumber: 0});
      scriptEntryId = set.breakpointId;
    }
    for (const script of [...scripts.values()].filter(isOwn)) {
      for (const wanted of functions) await findFunction(wanted, script).catch(() => {});
    }
    return {breakpoints: all.map(({id, found, message}) => ({id, verified: found > 0, message}))};
  },
  async setExceptionBreakpoints({filters, names}) {
    exceptionNames = names || [];
    stopsUncaught = filters.includes('uncaught');
    const state = filters.includes('all') || exceptionNames.length ? 'all' : stopsUncaught ? 'uncaught' : 'none';
    if (filters.includes('all')) exceptionNames = [];
    await inspect('Debugger.setPauseOnExceptions', {state});
  },
  async configurationDone() {
    if (config.stopOnEntry) {
      const url = pathToFileURL(fs.realpathSync(config.program)).href;
      programEntryId = (await inspect('Debugger.setBreakpointByUrl', {url, ...firstLocation(config.program)})).breakpointId;
    }
    await inspect('Debugger.resume');
  },
  threads: () => ({threads: [{id: 1, name: 'main'}]}),
  stackTrace({levels}) {
    const {frames, traced} = requireStop();
    if (traced) {
      const stackFrames = traced.map(({name, path: file, line}, index) => ({id: index + 1, name, line, column: 1, source: {path: file}}));
      return {stackFrames, totalFrames: stackFrames.length};
    }
    const stackFrames = frames.slice(0, levels || 200).map((frame, index) => {
      const script = scripts.get(frame.location.scriptId);
      return {
        id: index + 1,
        name: frame.functionName || '(anonymous)',
        line: frame.location.lineNumber + 1,
        column: (frame.location.columnNumber || 0) + 1,
        source: {path: fileOf((script && script.url) || frame.url || '')},
      };
    });
    return {stackFrames, totalFrames: frames.length};
  },
  scopes({frameId}) {
    if (requireStop().traced) return {scopes: []};
    const frame = requireStop().frames[frameId - 1];
    if (!frame) throw new Error(`there is no frame ${frameId}`);
    const scopes = [];
    for (const scope of frame.scopeChain) {
      if (scope.type === 'global' || scope.type === 'script') continue;
      const extra = scope === frame.scopeChain[0] && frame.this && frame.this.objectId && frame.this.className !== 'global' ? [['this', frame.this]] : [];
      scopes.push({
        name: scope.type, expensive: false,
        variablesReference: addHandle({object: scope.object.objectId, extra, isScope: true}),
      });
    }
    return {scopes};
  },
  async variables({variablesReference, start: from = 0, count}) {
    const target = handles.get(variablesReference);
    if (!target) throw new Error('the value is no longer available; evaluate it again');
    const objectId = target.isScope ? target.object : await propertyRange(target.object, from, count || MAX_CHILDREN);
    const {result} = await inspect('Runtime.getProperties', {objectId, ownProperties: true, generatePreview: true});
    const all = [...(target.extra || []).map(([name, value]) => ({name, value}))];
    for (const property of result) {
      const {name, value, get, enumerable} = property;
      if (name === '__proto__' || (name === 'length' && !target.isScope && !enumerable)) continue;
      all.push(value ? property : {name, value: {type: 'accessor', description: get ? '(getter)' : '(unset)'}});
    }
    const wrapper = ['exports', 'require', 'module', '__filename', '__dirname'];
    const isWrapper = target.isScope && wrapper.every((name) => all.some((property) => property.name === name));
    const visible = all.filter(({name}) => !isWrapper || !(wrapper.includes(name) || name === 'this'));
    return {variables: visible.slice(0, MAX_CHILDREN).map(({name, value}) => variable(name, value))};
  },
  async evaluate(params) {
    const frame = params.frameId ? requireStop().frames[params.frameId - 1] : null;
    const value = variable('', await evaluateIn(params, frame));
    return {result: value.value, type: value.type, variablesReference: value.variablesReference, indexedVariables: value.indexedVariables};
  },
  exceptionInfo() {
    const {exception} = requireStop();
    if (!exception) throw new Error('the program has not stopped at an exception');
    const text = exception.description || summarize(exception);
    const [first] = text.split('\n');
    return {
      exceptionId: exception.className || exception.type,
      description: first.slice(0, MAX_TEXT_CHARS),
      breakMode: 'unhandled',
      details: {typeName: exception.className, message: first.replace(/^[\w.]*(?: \[\w+\])?: /, ''), stackTrace: text.slice(0, MAX_TEXT_CHARS)},
    };
  },
  continue: resume('Debugger.resume'),
  next: resume('Debugger.stepOver'),
  stepIn: resume('Debugger.stepInto'),
  stepOut: resume('Debugger.stepOut'),
  async pause() {
    isPauseRequested = true;
    await inspect('Debugger.pause');
  },
  async disconnect() {
    await terminate();
  },
};
handlers.terminate = handlers.disconnect;
