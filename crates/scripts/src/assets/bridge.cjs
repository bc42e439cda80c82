const fs = require('fs'), net = require('net'), path = require('path');
const folder = process.argv[1], lines = new Map();
let parts = [], have = 0, want = null, tag = 0, opened = false;
const say = (tag, data) => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(tag, 0);
  head.writeUInt32BE(data.length, 4);
  process.stdout.write(Buffer.concat([head, data]));
};
const leave = () => { fs.rmSync(folder, { recursive: true, force: true }); process.exit(0); };
const open = (text) => {
  for (const [name, content] of Object.entries(JSON.parse(text))) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
  net.createServer((line) => {
    const own = ++tag;
    let parts = [], have = 0, want = null;
    lines.set(own, line);
    const take = (size) => {
      const all = Buffer.concat(parts);
      parts = [all.subarray(size)];
      have -= size;
      return all.subarray(0, size);
    };
    line.on('data', (data) => {
      parts.push(data);
      have += data.length;
      for (;;) {
        if (want === null) {
          if (have < 4) return;
          want = take(4).readUInt32BE(0);
          if (want > 67108864) return line.destroy();
        }
        if (have < want) return;
        say(own, take(want));
        want = null;
      }
    });
    line.on('error', () => {});
    line.on('close', () => lines.delete(own));
  }).listen(path.join(folder, 'door'), () => say(0, Buffer.from(JSON.stringify({ folder, program: process.argv[2] }))));
};
const take = (size) => {
  const all = Buffer.concat(parts);
  parts = [all.subarray(size)];
  have -= size;
  return all.subarray(0, size);
};
process.stdin.on('data', (data) => {
  parts.push(data);
  have += data.length;
  for (;;) {
    if (want === null) {
      if (have < 8) return;
      const head = take(8);
      want = [head.readUInt32BE(0), head.readUInt32BE(4)];
    }
    if (have < want[1]) return;
    const body = take(want[1]);
    const line = lines.get(want[0]);
    want = null;
    if (!opened) { opened = true; open(body.toString('utf8')); continue; }
    if (!line) continue;
    const size = Buffer.alloc(4);
    size.writeUInt32BE(body.length, 0);
    line.write(Buffer.concat([size, body]));
  }
});
process.stdin.on('end', leave);
process.stdin.on('error', leave);
