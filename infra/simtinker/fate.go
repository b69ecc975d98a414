package simtinker

import "strings"

// Stop makes the engine do nothing: calls that are accepted stay pending.
func (s *Service) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
}

// Kill ends the engine with what it had in memory, and starts another. Calls that it had not done are never done.
func (s *Service) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.engine, s.down = engine{models: map[string]*loaded{}}, false
	for _, f := range s.futures {
		if f.status == 0 {
			f.status, f.body = 400, detail("Model m not loaded (likely stale request from previous server)")
		}
	}
}

// Saved is what was saved under a path tinker://MODEL/weights/NAME.
func (s *Service) Saved(path string) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.saves[strings.TrimPrefix(path, "tinker://")]; k != nil {
		return *k
	}
	return State{}
}

// Poison takes a name without saving under it, as a save does that a killed engine had not ended.
func (s *Service) Poison(model, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves[model+"/weights/"+name] = nil
}

// Loaded counts the models in memory.
func (s *Service) Loaded() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.models)
}

// Leave puts gradients into all slots, as of models that were unloaded.
func (s *Service) Leave(gradient float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.slots {
		s.slots[i] = gradient
	}
}
