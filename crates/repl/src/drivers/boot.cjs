{
  const { readSync } = require('fs');
  let received = Buffer.alloc(0);
  for (;;) {
    const end = received.indexOf(10);
    const size = end < 0 ? Infinity : Number(received.subarray(0, end).toString());
    if (received.length >= end + 1 + size) {
      const source = received.subarray(end + 1, end + 1 + size).toString();
      const rest = Buffer.from(received.subarray(end + 1 + size));
      const driver = require('vm').runInThisContext(source, { filename: 'node:hermes' });
      driver({ importer: (name) => import(name), rest });
      break;
    }
    const chunk = Buffer.alloc(65536);
    const bytesRead = readSync(3, chunk);
    if (bytesRead === 0) process.exit(0);
    received = Buffer.concat([received, chunk.subarray(0, bytesRead)]);
  }
}
