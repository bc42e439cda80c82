const fs = require('fs'), net = require('net'), path = require('path');
const directory = process.argv[1], connections = new Map();
let lastTag = 0, opened = false;
const send = (tag, data) => process.stdout.write(encodeFrame(data, tag));
const shutDown = () => { fs.rmSync(directory, { recursive: true, force: true }); process.exit(0); };
const open = (text) => {
  for (const [name, content] of Object.entries(JSON.parse(text))) {
    const file = path.join(directory, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
  net.createServer((connection) => {
    const tag = ++lastTag;
    connections.set(tag, connection);
    connection.on('data', frameDecoder(4, (body) => (body ? send(tag, body) : connection.destroy()), 67108864));
    connection.on('error', () => {});
    connection.on('close', () => connections.delete(tag));
  }).listen(path.join(directory, 'door'), () => send(0, Buffer.from(JSON.stringify({ folder: directory, program: process.argv[2] }))));
};
process.stdin.on('data', frameDecoder(8, (body, tag) => {
  if (!opened) { opened = true; return open(body.toString('utf8')); }
  const connection = connections.get(tag);
  if (connection) connection.write(encodeFrame(body));
}));
process.stdin.on('end', shutDown);
process.stdin.on('error', shutDown);
