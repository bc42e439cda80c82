'use strict';
const module_ = require('module');
const path = require('path');
const url = require('url');
const base = path.join(process.cwd(), 'script.js');
// A script with top-level await is a module, which lacks these globals.
globalThis.require = globalThis.require || module_.createRequire(base);
globalThis.__filename = base;
globalThis.__dirname = process.cwd();
if (module_.registerHooks) {
  const moduleUrl = url.pathToFileURL(path.join(__dirname, 'node_modules/hermes_tools/index.mjs')).href;
  module_.registerHooks({
    resolve(name, context, next) {
      const isImport = name === 'hermes_tools' && !(context.conditions || []).includes('require');
      return isImport ? { url: moduleUrl, shortCircuit: true } : next(name, context);
    },
  });
}
