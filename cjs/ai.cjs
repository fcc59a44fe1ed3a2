// require('rowmill/ai') gives the modules that import gives: there is one copy of everything.
module.exports = require('./explain-require.cjs')('rowmill/ai', () => require('../dist/ai/index.js'));
