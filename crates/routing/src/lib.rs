//! Which deployments may serve a call, in what order, within what budget.
