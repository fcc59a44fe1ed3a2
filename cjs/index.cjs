// require('rowmill') gives the modules that import gives: there is one copy of everything.
module.exports = require('./explain-require.cjs')('rowmill', () => require('../dist/index.js'));
