// require('rowmill/register') gives the modules that import gives: there is one copy of everything.
module.exports = require('./explain-require.cjs')('rowmill/register', () =>
  require('../dist/testing/register.js'),
);
