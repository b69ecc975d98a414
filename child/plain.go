package child

import "os"

// Plain is what of this process's own environment a child may see that is nobody's secret: where programs are, whose home it is,
// language, time zone.
func Plain() (env []string) {
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
