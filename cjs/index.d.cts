import all = require('../dist/index.js');
export = all;
