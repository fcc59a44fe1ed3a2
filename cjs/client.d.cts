import all = require('../dist/client/index.js');
export = all;
