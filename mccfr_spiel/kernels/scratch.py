class Cut: pass
