import all = require('../dist/testing/index.js');
export = all;
