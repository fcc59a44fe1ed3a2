// require('rowmill/testing') gives the modules that import gives: there is one copy of everything.
module.exports = require('./explain-require.cjs')('rowmill/testing', () =>
  require('../dist/testing/index.js'),
);
