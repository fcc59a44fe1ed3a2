/** An object that behaves like another one except for some methods. Classes with private fields cannot be spread. */
export function withMethods<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(name in methods ? methods : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
