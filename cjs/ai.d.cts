import all = require('../dist/ai/index.js');
export = all;
