// require('rowmill/client') gives the modules that import gives: there is one copy of everything.
module.exports = require('./explain-require.cjs')('rowmill/client', () => require('../dist/client/index.js'));
