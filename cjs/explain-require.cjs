// Says what to do where Node cannot require ECMAScript modules: before 20.19 and 22.12, or if that is turned off.
module.exports = (name, load) => {
  try {
    return load();
  } catch (cause) {
    if (cause.code !== 'ERR_REQUIRE_ESM') throw cause;
    throw Object.assign(
      new Error(
        `require('${name}') needs Node 20.19, 22.12 or newer, this is ${process.version}: update Node, or use await import('${name}')`,
        { cause },
      ),
      { code: cause.code },
    );
  }
};
