// An error boundary: a part of a screen that throws does not take the rest with it.
import { Component, type ReactNode } from 'react';

export interface GuardProps {
  /** Shown instead of the part. */
  fallback: ReactNode;
  children: ReactNode;
}

export class Guard extends Component<GuardProps, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? this.props.fallback : this.props.children;
  }
}
