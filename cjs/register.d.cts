import all = require('../dist/testing/register.js');
export = all;
