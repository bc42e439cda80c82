'use strict';
const module_ = require('module');
const path = require('path');
const url = require('url');
const base = path.join(process.cwd(), 'script.js');
// A script that awaits is a module, and still wants these.
globalThis.require = globalThis.require || module_.createRequire(base);
globalThis.__filename = base;
globalThis.__dirname = process.cwd();
if (module_.registerHooks) {
  const place = url.pathToFileURL(path.join(__dirname, 'node_modules/hermes_tools/index.mjs')).href;
  module_.registerHooks({
    resolve(name, context, next) {
      const wanted = name === 'hermes_tools' && !(context.conditions || []).includes('require');
      return wanted ? { url: place, shortCircuit: true } : next(name, context);
    },
  });
}
