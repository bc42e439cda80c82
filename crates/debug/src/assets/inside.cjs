'use strict';
// Loaded before the program: another thread carries the messages of the
// inspector between the program's thread and the socket that we were given.
const {Worker, isMainThread} = require('node:worker_threads');
const fd = Number(process.env.HERMES_DEBUG_FD);
if (isMainThread && fd > 2) {
  delete process.env.HERMES_DEBUG_FD;
  const at = process.execArgv.indexOf(__filename);
  if (at > 0) process.execArgv.splice(at - 1, 2);
  try {
    require('node:fs').unlinkSync(__filename);
  } catch {}
  const ready = new Int32Array(new SharedArrayBuffer(4));
  const carry = `
    const {workerData} = require('node:worker_threads');
    const {Session} = require('node:inspector');
    const session = new Session();
    session.connectToMainThread();
    const line = new (require('node:net').Socket)({fd: workerData.fd});
    const send = (message) => line.write(JSON.stringify(message) + '\\n');
    session.on('inspectorNotification', send);
    let rest = '';
    line.setEncoding('utf8');
    line.on('data', (text) => {
      const lines = (rest + text).split('\\n');
      rest = lines.pop();
      for (const one of lines) {
        const {id, method, params} = JSON.parse(one);
        session.post(method, params, (error, result) => send({id, error, result}));
      }
    });
    session.post('Runtime.enable');
    session.post('Debugger.enable', {}, () => Atomics.store(workerData.ready, 0, 1));
  `;
  const worker = new Worker(carry, {eval: true, execArgv: [], env: {}, workerData: {fd, ready}});
  worker.unref();
  // The loop gives the inspector its chance to be heard.
  while (Atomics.load(ready, 0) === 0) Atomics.wait(ready, 0, 0, 2);
  debugger;
  // What was thrown where no debugger took it for the end, such as at the top
  // of a module.
  process.on('uncaughtExceptionMonitor', function hermesLast(error) {
    debugger;
    void error;
  });
}
