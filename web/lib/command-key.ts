// The key that shortcuts are pressed with: Command on Apple devices, Control elsewhere.
export const commandKey = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl';
