'use strict';
// Loaded before the program. A worker thread forwards inspector messages between
// the main thread and the inherited socket.
const {Worker, isMainThread} = require('node:worker_threads');
const fd = Number(process.env.HERMES_DEBUG_FD);
if (isMainThread && fd > 2) {
  delete process.env.HERMES_DEBUG_FD;
  const index = process.execArgv.indexOf(__filename);
  if (index > 0) process.execArgv.splice(index - 1, 2);
  try {
    require('node:fs').unlinkSync(__filename);
  } catch {}
  const ready = new Int32Array(new SharedArrayBuffer(4));
  const forwarder = `
    const {workerData} = require('node:worker_threads');
    const {Session} = require('node:inspector');
    const session = new Session();
    session.connectToMainThread();
    const connection = new (require('node:net').Socket)({fd: workerData.fd});
    const send = (message) => connection.write(JSON.stringify(message) + '\\n');
    session.on('inspectorNotification', send);
    let rest = '';
    connection.setEncoding('utf8');
    connection.on('data', (text) => {
      const lines = (rest + text).split('\\n');
      rest = lines.pop();
      for (const line of lines) {
        const {id, method, params} = JSON.parse(line);
        session.post(method, params, (error, result) => send({id, error, result}));
      }
    });
    session.post('Runtime.enable');
    session.post('Debugger.enable', {}, () => Atomics.store(workerData.ready, 0, 1));
  `;
  const worker = new Worker(forwarder, {eval: true, execArgv: [], env: {}, workerData: {fd, ready}});
  worker.unref();
  // Short waits let the main thread handle inspector messages.
  while (Atomics.load(ready, 0) === 0) Atomics.wait(ready, 0, 0, 2);
  debugger;
  // Stops at uncaught errors that the debugger does not predict as uncaught, such
  // as at the top level of a module.
  process.on('uncaughtExceptionMonitor', function hermesUncaught(error) {
    debugger;
    void error;
  });
}
