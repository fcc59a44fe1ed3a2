// Starts the page.
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from './lib/client.ts';
import { applyNonce } from './lib/server-page.ts';
import { applyTheme } from './lib/theme.ts';
import { router } from './routes/router.tsx';
import './style.css';

applyNonce();
applyTheme();
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
